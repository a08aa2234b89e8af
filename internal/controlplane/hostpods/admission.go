package hostpods

import (
	"context"
	"io"
	"slices"

	"k8s.io/apiserver/pkg/admission"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/apis/core"

	"github.com/example/mysdk/internal/cluster/state"
)

// Of pods that programs of this machine serve.
const (
	ProcessAnnotation = state.ProcessAnnotation
	ProcessMarked     = "true"
)

// processPlugin is the name of the admission plugin that puts the annotation on.
const processPlugin = "HostProcesses"

// AdmitProcesses puts the plugin before all others, so that webhooks see the
// pod as it will be.
func AdmitProcesses(o *apioptions.ServerRunOptions, p *programs) {
	generic := o.Admission.GenericAdmission
	generic.Plugins.Register(processPlugin, func(io.Reader) (admission.Interface, error) {
		return processMarker{admission.NewHandler(admission.Create), p}, nil
	})
	// The list is a variable of the package it comes from.
	generic.RecommendedPluginOrder = append([]string{processPlugin}, slices.Clone(generic.RecommendedPluginOrder)...)
}

// processMarker marks pods at their creation: before KWOK can see them.
type processMarker struct {
	*admission.Handler
	programs *programs
}

var _ admission.MutationInterface = processMarker{}

// Admit implements admission.MutationInterface.
func (m processMarker) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, ok := a.GetObject().(*core.Pod)
	if !ok || a.GetSubresource() != "" || a.GetResource().GroupResource() != core.Resource("pods") {
		return nil
	}
	whose := ownerOf(pod).name
	for _, list := range [][]core.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range list {
			if _, found := m.programs.find(c.Image, whose); !found {
				continue
			}
			if pod.Annotations == nil {
				pod.Annotations = map[string]string{}
			}
			pod.Annotations[ProcessAnnotation] = ProcessMarked
			return nil
		}
	}
	awaitConfig(pod)
	return nil
}
