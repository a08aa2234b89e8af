package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
)

// healthy ends what is simulated.
const healthy = "healthy"

func newSimulate(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "simulate", Short: "Make simulated objects fail on purpose",
		Example: "  mysdk cluster simulate pod web-5d9c7b8f6-x2x7k crash",
	}
	c.AddCommand(newSimulatePod(f))
	return c
}

func newSimulatePod(f *cli.Factory) *cobra.Command {
	t, namespace := cli.Target{}, ""
	states := append(state.Simulations(), healthy)
	c := &cobra.Command{
		Use:   "pod NAME " + strings.Join(states, "|"),
		Short: "Make a simulated pod crash, become unready or fail to pull its image",
		Long: `Make a simulated pod crash, become unready or fail to pull its image, to see
how your operator reacts. "healthy" undoes that.

The pod keeps the state until it is changed or deleted; a pod that replaces it
is healthy. To give all pods of a workload a state, set the annotation
` + state.SimulateAnnotation + ` in its pod template.

Pods that run an operator on this machine cannot be simulated.`,
		Example: `  mysdk cluster simulate pod web-5d9c7b8f6-x2x7k crash
  mysdk cluster simulate pod web-5d9c7b8f6-x2x7k healthy`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return clierr.Usagef("such as: mysdk cluster simulate pod web-5d9c7b8f6-x2x7k crash", "%q takes a pod and a state", c.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			words := states
			switch len(args) {
			case 0:
				words = f.Listed(c, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, namespace)
			case 1:
			default:
				words = nil
			}
			return cli.Matching(nil, words, typed)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(states, args[1]) {
				return clierr.Usagef("choose "+strings.Join(states, ", "), "%q is not a state of a pod", args[1])
			}
			return simulatePod(c.Context(), f, &t, namespace, args[0], args[1])
		},
	}
	cli.ClusterFlag(c.Flags(), &t.Name)
	c.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of the pod")
	return c
}

// simulatePod notes on a pod how it should be simulated: the controllers of the
// cluster act on the annotation, and a pod that is made again has none.
func simulatePod(ctx context.Context, f *cli.Factory, t *cli.Target, namespace, name, what string) error {
	client, err := f.Connect(ctx, t, false)
	if err != nil {
		return err
	}
	pod := kube.Named("v1", "Pod", namespace, name)
	err = client.Edit(ctx, pod, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			return nil, clierr.Failedf(fmt.Sprintf("list the pods with 'mysdk kubectl get pods -n %s'", namespace), "there is no pod %s in namespace %s", name, namespace)
		}
		if live.GetAnnotations()[state.ProcessAnnotation] != "" {
			return nil, clierr.Failedf("stop its process instead, which 'mysdk cluster status -o json' lists", "pod %s/%s runs on this machine and is not simulated", namespace, name)
		}
		if phase, _, _ := unstructured.NestedString(live.Object, "status", "phase"); phase == "Succeeded" || phase == "Failed" {
			return nil, clierr.Failedf("to have the pods of a workload fail, set the annotation "+state.SimulateAnnotation+": crash in its pod template",
				"pod %s/%s has ended: it is %s", namespace, name, phase)
		}
		if what == healthy {
			unstructured.RemoveNestedField(live.Object, "metadata", "annotations", state.SimulateAnnotation)
			return live, nil
		}
		return live, unstructured.SetNestedField(live.Object, what, "metadata", "annotations", state.SimulateAnnotation)
	})
	if err == nil {
		f.Say("Pod %s/%s is simulated as %s", namespace, name, what)
	}
	return err
}
