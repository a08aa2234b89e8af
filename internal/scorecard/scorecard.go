// Package scorecard runs the tests that a bundle's scorecard configuration
// names, and reports how they ended. The tests of the basic and the olm suite are
// part of it and need no image; any other runs as a pod. It knows
// configurations, stages and results, and nothing of how a bundle is found or a
// cluster is chosen.
//
// Configuration and results are those of the API group
// scorecard.operatorframework.io/v1alpha3.
package scorecard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// ConfigPath is where a bundle keeps its configuration, unless its annotations
// name another directory.
const ConfigPath = "tests/scorecard/config.yaml"

// Subject is the bundle under test.
type Subject struct {
	Files map[string][]byte // its files, by slash-separated path from its root
	CSV   *v1alpha1.ClusterServiceVersion
	CRDs  []*apiextensionsv1.CustomResourceDefinition
	// Validate runs the validators that every bundle has to pass.
	Validate func() (problems, warnings []string)
}

// Options say what is run, and where.
type Options struct {
	Config   v1alpha3.Configuration
	Selector labels.Selector // chooses among the tests' labels; nil: all
	Wait     time.Duration   // for all of the tests together
	API      *kube.Client    // asked whether it accepts CRDs and examples; nil: nobody is
	Pods     *Pods           // runs tests that have an image of their own; nil: nothing can
	Unasked  bool            // there is a cluster that could run them, and it is not to be asked
}

// ParseConfig reads a configuration; name stands for it in errors. Tests without
// storage of their own have that of the whole. Unknown
// fields are errors: a test that is misspelt would not run, and nobody know.
func ParseConfig(data []byte, name string) (v1alpha3.Configuration, error) {
	var c v1alpha3.Configuration
	var head metav1.TypeMeta
	const form = "see config/scorecard of a scaffolded project for the form"
	if err := yaml.Unmarshal(data, &head); err != nil {
		return c, clierr.Failedf(form, "read scorecard configuration %s: %w", name, err)
	}
	if head.Kind != v1alpha3.ConfigurationKind || head.APIVersion != v1alpha3.GroupVersion.String() {
		return c, clierr.Failedf(fmt.Sprintf("it has to be apiVersion: %s, kind: %s; those of operator-sdk before v1.0 are of another form", v1alpha3.GroupVersion, v1alpha3.ConfigurationKind),
			"read scorecard configuration %s: its kind is %q and its apiVersion %q", name, head.Kind, head.APIVersion)
	}
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return c, clierr.Failedf(form, "read scorecard configuration %s: %w", name, err)
	}
	for i, stage := range c.Stages {
		for j, test := range stage.Tests {
			mount := &stage.Tests[j].Storage.Spec.MountPath
			mount.Path = cmp.Or(mount.Path, c.Storage.Spec.MountPath.Path)
			if test.Image == "" && builtin(test) == nil {
				return c, clierr.Failedf("name the image that runs it", "read scorecard configuration %s: stages[%d].tests[%d] has no image, and is not a built-in test", name, i, j)
			}
		}
	}
	return c, nil
}

// List is a list of tests with their results, as it is printed.
type List = v1alpha3.TestList

// NeedsPods reports whether a selected test has an image of its own to run.
func NeedsPods(o Options) bool {
	return slices.ContainsFunc(Selected(o).Items, func(t v1alpha3.Test) bool { return builtin(t.Spec) == nil })
}

// Selected lists the tests that Run would run, in order and without results.
func Selected(o Options) v1alpha3.TestList {
	list := v1alpha3.NewTestList()
	for _, stage := range o.Config.Stages {
		for _, t := range o.choose(stage) {
			item := v1alpha3.NewTest()
			item.Spec = t
			list.Items = append(list.Items, item)
		}
	}
	return list
}

func (o Options) choose(stage v1alpha3.StageConfiguration) []v1alpha3.TestConfiguration {
	var chosen []v1alpha3.TestConfiguration
	for _, t := range stage.Tests {
		if o.Selector == nil || o.Selector.Matches(labels.Set(t.Labels)) {
			chosen = append(chosen, t)
		}
	}
	return chosen
}

// Run runs the selected tests, stage after stage and those of a parallel stage
// at once. A test that does not end in time, or cannot run, has the state
// error; the returned error is only for a ctx that ends before.
func Run(ctx context.Context, s Subject, o Options) (v1alpha3.TestList, error) {
	limited, cancel := context.WithTimeoutCause(ctx, o.Wait, errWait{o.Wait})
	defer cancel()
	list := v1alpha3.NewTestList()
	for _, stage := range o.Config.Stages {
		tests := o.choose(stage)
		items := make([]v1alpha3.Test, len(tests))
		var running sync.WaitGroup
		for i, t := range tests {
			run := func() {
				items[i] = v1alpha3.NewTest()
				items[i].Spec = t
				items[i].Status = o.one(limited, s, t)
			}
			if stage.Parallel {
				running.Go(run)
			} else {
				run()
			}
		}
		running.Wait()
		list.Items = append(list.Items, items...)
		if ctx.Err() != nil {
			return list, fmt.Errorf("run the scorecard: %w", ctx.Err())
		}
	}
	return list, nil
}

// errWait is the end of the time that the tests have together.
type errWait struct{ wait time.Duration }

// Error implements error.
func (e errWait) Error() string { return fmt.Sprintf("not ended within %s", e.wait) }

func (o Options) one(ctx context.Context, s Subject, t v1alpha3.TestConfiguration) v1alpha3.TestStatus {
	check := builtin(t)
	switch {
	case ctx.Err() != nil:
		return failedToRun(t, errors.Join(errors.New("not begun"), context.Cause(ctx)), "", "give the tests more time with --wait-time")
	case check != nil:
		r := check(ctx, s, o.API)
		return v1alpha3.TestStatus{Results: []v1alpha3.TestResult{r}}
	case o.Pods == nil && o.Unasked:
		return failedToRun(t, fmt.Errorf("image %s needs a cluster that runs containers, and --no-cluster asks none", t.Image), "", "leave --no-cluster out")
	case o.Pods == nil:
		return failedToRun(t, fmt.Errorf("image %s needs a cluster that runs containers, and the embedded one runs none", t.Image), "",
			"name another cluster with --context or --kubeconfig")
	}
	return o.Pods.run(ctx, s, t)
}

// failedToRun is the status of a test that gave no result.
func failedToRun(t v1alpha3.TestConfiguration, err error, log, suggestion string) v1alpha3.TestStatus {
	r := v1alpha3.TestResult{Name: resultName(t), State: v1alpha3.ErrorState, Errors: []string{err.Error()}, Log: log}
	if suggestion != "" {
		r.Suggestions = []string{suggestion}
	}
	return v1alpha3.TestStatus{Results: []v1alpha3.TestResult{r}}
}

// Name is what a test is called: its label test, else its command.
func Name(t v1alpha3.TestConfiguration) string {
	switch {
	case t.Labels["test"] != "":
		return t.Labels["test"]
	case len(t.Entrypoint) > 0:
		return t.Entrypoint[len(t.Entrypoint)-1]
	}
	return t.Image
}

// resultName is the name of a test's result: as in operator-sdk, that of a built-in
// test is not its label.
func resultName(t v1alpha3.TestConfiguration) string {
	if builtin(t) != nil {
		return t.Entrypoint[1]
	}
	return Name(t)
}

// Passed reports whether every result is a pass.
func Passed(list v1alpha3.TestList) bool {
	for _, item := range list.Items {
		for _, r := range item.Status.Results {
			if r.State != v1alpha3.PassState {
				return false
			}
		}
	}
	return true
}

// configDirAnnotation names the directory of the configuration in a bundle.
const configDirAnnotation = "operators.operatorframework.io.test.config.v1"

// NewSubject takes of a bundle what its tests look at. CRDs of v1beta1, which
// no supported cluster serves, are an error.
func NewSubject(b *bundle.Bundle, validate func() (problems, warnings []string)) (Subject, error) {
	s := Subject{CSV: b.CSV, Files: map[string][]byte{}, Validate: validate}
	for _, f := range b.Files {
		s.Files[f.Name] = f.Data
	}
	for _, o := range b.CRDs() {
		if o.GetAPIVersion() != apiextensionsv1.SchemeGroupVersion.String() {
			return s, clierr.Failedf("run 'mysdk migrate' or 'mysdk generate' to make it apiextensions.k8s.io/v1", "%s: CRD %s is of %s, which clusters no longer serve", o.File, o.GetName(), o.GetAPIVersion())
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, crd); err != nil {
			return s, fmt.Errorf("%s: read CRD %s: %w", o.File, o.GetName(), err)
		}
		s.CRDs = append(s.CRDs, crd)
	}
	return s, nil
}

// ConfigOf returns the configuration of a bundle and its name for errors.
func ConfigOf(b *bundle.Bundle) (data []byte, name string, err error) {
	name = ConfigPath
	if dir := b.Annotations[configDirAnnotation]; dir != "" {
		name = path.Join(dir, path.Base(ConfigPath))
	}
	f, ok := b.Files.Get(name)
	if !ok {
		return nil, name, clierr.Failedf("name one with --config, or recreate the bundle with 'mysdk bundle generate': it brings config/scorecard along",
			"the bundle has no scorecard configuration %s", name)
	}
	return f.Data, name, nil
}
