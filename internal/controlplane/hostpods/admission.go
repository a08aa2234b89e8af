package hostpods

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/core"

	"github.com/example/mysdk/internal/cluster/state"
)

// Of pods that programs of this machine serve.
const (
	ProcessAnnotation = state.ProcessAnnotation
	ProcessMarked     = "true"
)

// Admission is the admission plugin that puts the annotation on. It goes before
// all others, so that webhooks see the pod as it will be.
func Admission(p *programs) (name string, plugin admission.Interface) {
	return "HostProcesses", processMarker{admission.NewHandler(admission.Create, admission.Update), p}
}

// processMarker marks pods at their creation: before KWOK can see them. It refuses
// containers that are added later: no pod would ever run them.
type processMarker struct {
	*admission.Handler
	programs *programs
}

var _ admission.MutationInterface = processMarker{}

// Admit implements admission.MutationInterface.
func (m processMarker) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, ok := a.GetObject().(*core.Pod)
	if ok && a.GetSubresource() == "ephemeralcontainers" {
		return admission.NewForbidden(a, errors.New("pods of this cluster run no containers, so that none can be added to debug one"))
	}
	if !ok || a.GetOperation() != admission.Create || a.GetSubresource() != "" || a.GetResource().GroupResource() != core.Resource("pods") {
		return nil
	}
	whose := ownerOf(pod).name
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if _, found := m.programs.find(c.Image, whose); found {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, ProcessAnnotation, ProcessMarked)
			return nil
		}
	}
	awaitConfig(pod)
	return nil
}
