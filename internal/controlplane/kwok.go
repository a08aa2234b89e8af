package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwokclient "sigs.k8s.io/kwok/pkg/utils/client"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane/hostpods"
)

// podWorkers is how many pods KWOK moves to their next stage side by side.
const podWorkers = 8

// startKWOK lets KWOK play the kubelets: pods that are scheduled to a
// simulated node become Ready at once, those of a Job complete, deleted ones go.
func (s *server) startKWOK(ctx context.Context) error {
	conf, err := s.kwokConfig()
	if err != nil {
		return fmt.Errorf("configure KWOK: %w", err)
	}
	if conf.CIDR, err = s.freeAddresses(ctx); err != nil {
		return fmt.Errorf("look for addresses in use: %w", err)
	}
	controller, err := controllers.NewController(conf)
	if err != nil {
		return fmt.Errorf("configure KWOK: %w", err)
	}
	level := kwoklog.LevelError
	if s.Verbosity > 0 {
		level = kwoklog.LevelInfo
	}
	if err := controller.Start(kwoklog.NewContext(ctx, kwoklog.NewLogger(s.Log, level))); err != nil {
		return fmt.Errorf("start KWOK: %w", err)
	}
	s.tracker.stage("kwok")
	return nil
}

// freeAddresses is the network of pods from the last address on that a pod has.
// KWOK gives out addresses in their order, and does not see those of pods that
// became Ready before it was started.
func (s *server) freeAddresses(ctx context.Context) (string, error) {
	pods, err := s.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	network := netip.MustParsePrefix(hostpods.PodNetwork)
	last := network.Addr()
	for i := range pods.Items {
		address, err := netip.ParseAddr(pods.Items[i].Status.PodIP)
		if err == nil && network.Contains(address) && last.Less(address) {
			last = address
		}
	}
	return netip.PrefixFrom(last, network.Bits()).String(), nil
}

// kwokConfig has KWOK play the nodes that are annotated for it, and all of their
// pods but those that programs of this machine stand behind. Its clients are not
// limited in their rate: the API server is in the same process.
func (s *server) kwokConfig() (controllers.Config, error) {
	var none controllers.Config
	clients, err := kwokclient.NewClientset("", s.layout.OwnKubeconfig())
	if err != nil {
		return none, err
	}
	conf, err := clients.ToRESTConfig()
	if err != nil {
		return none, err
	}
	conf.QPS = -1
	dynamic, err := clients.ToDynamicClient()
	if err != nil {
		return none, err
	}
	mapper, err := clients.ToRESTMapper()
	if err != nil {
		return none, err
	}
	restClient, err := rest.RESTClientFor(conf)
	if err != nil {
		return none, err
	}
	typed, err := kubernetes.NewForConfig(conf)
	if err != nil {
		return none, err
	}
	stages, err := kwokStages()
	return controllers.Config{
		ID: "mysdk", Clock: clock.RealClock{}, RESTClient: restClient, RESTMapper: mapper, DynamicClient: dynamic, TypedClient: typed,
		ImpersonatingDynamicClient:        clients.ToImpersonatingDynamicClient(),
		ImpersonatingTypedClient:          clients.ToImpersonatingTypedClient(),
		ManageNodesWithAnnotationSelector: kwokAnnotation + "=" + kwokFake,
		// Programs of this machine serve these pods.
		DisregardStatusWithAnnotationSelector: hostpods.ProcessAnnotation + "=" + hostpods.ProcessMarked,
		NodeIP:                                hostpods.NodeNetwork + ".1", LocalStages: stages,
		PodPlayStageParallelism: podWorkers, NodePlayStageParallelism: 1, PodsOnNodeSyncParallelism: 1,
	}, err
}

// podGated has the condition Ready follow the readiness gates of a pod that runs, as
// a kubelet does. It selects pods whose Ready differs from what their gates say.
const podGated = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-gated
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: '.spec.readinessGates[]?', operator: Exists}
    - key: |
        [.status.conditions[] | select(.status == "True") | .type] as $true |
        ([.spec.readinessGates[]?.conditionType, "ContainersReady"] - $true == []) != ($true | any(. == "Ready"))
      operator: In
      values: ["true"]
  next:
    statusTemplate: |
      {{ range .status.conditions }}{{ if eq .type "Ready" }}
      conditions:
      - lastTransitionTime: {{ Now | Quote }}
        type: Ready
        {{ if eq .status "True" }}
        status: "False"
        reason: ReadinessGatesNotReady
        {{ else }}
        status: "True"
        reason: null
        {{ end }}
      {{ end }}{{ end }}
`

// kwokStages are KWOK's own stages without its artificial delays. Pods that are
// to look otherwise are left alone, all that are not restarted complete, and readiness
// gates are left to those who open them.
func kwokStages() (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, text := range []string{
		nodefast.DefaultNodeInit, ungated(podfast.DefaultPodReady), podGated, podfast.DefaultPodComplete, podfast.DefaultPodDelete,
	} {
		stage, err := config.UnmarshalWithType[*internalversion.Stage](text)
		if err != nil {
			return nil, fmt.Errorf("read a stage: %w", err)
		}
		s := stage.Spec.Selector
		switch stage.Name {
		case "pod-complete":
			s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions, func(r internalversion.MatchExpression) bool {
				return r.JQ != nil && strings.Contains(r.JQ.Key, "ownerReferences")
			})
			s.MatchExpressions = append(s.MatchExpressions, jq(".spec.restartPolicy", internalversion.SelectorOpIn, string(corev1.RestartPolicyNever), string(corev1.RestartPolicyOnFailure)))
			fallthrough
		case "pod-ready":
			s.MatchExpressions = append(s.MatchExpressions, jq(`.metadata.annotations["`+state.SimulateAnnotation+`"]`, internalversion.SelectorOpDoesNotExist))
		}
		stages[stage.Spec.ResourceRef] = append(stages[stage.Spec.ResourceRef], stage)
	}
	return stages, nil
}

// ungated is KWOK's stage pod-ready without what opens the readiness gates. A pod that
// has some is not Ready before podGated says so.
func ungated(stage string) string {
	return strings.NewReplacer(
		"range .spec.readinessGates", "if false",
		"status: \"True\"\n        type: Ready\n", "status: {{ if .spec.readinessGates }}\"False\"{{ else }}\"True\"{{ end }}\n        type: Ready\n",
	).Replace(stage)
}

func jq(key string, operator internalversion.SelectorOperator, values ...string) internalversion.MatchExpression {
	return internalversion.MatchExpression{JQ: &internalversion.SelectorJQ{Key: key, Operator: operator, Values: values}}
}
