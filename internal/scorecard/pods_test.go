package scorecard

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
)

func TestPodState(t *testing.T) {
	for name, tc := range map[string]struct {
		status       string
		ended, stuck bool
		state        string
	}{
		"new":         {`{}`, false, false, "phase "},
		"ended":       {`{phase: Succeeded, containerStatuses: [{name: scorecard-test, state: {terminated: {exitCode: 0}}}]}`, true, false, "phase Succeeded"},
		"sidecar":     {`{phase: Running, containerStatuses: [{name: scorecard-gather, state: {terminated: {exitCode: 0}}}]}`, false, true, "phase Running, container scorecard-gather ended"},
		"no sidecar":  {`{phase: Pending, containerStatuses: [{name: scorecard-gather, state: {waiting: {reason: ImagePullBackOff}}}, {name: scorecard-test, state: {terminated: {exitCode: 0}}}]}`, true, true, "phase Pending, container scorecard-gather waits: ImagePullBackOff"},
		"no image":    {`{phase: Pending, containerStatuses: [{name: scorecard-test, state: {waiting: {reason: ImagePullBackOff, message: not found}}}]}`, false, true, "phase Pending, container scorecard-test waits: ImagePullBackOff not found"},
		"pulling":     {`{phase: Pending, containerStatuses: [{name: scorecard-test, state: {waiting: {reason: ErrImagePull}}}]}`, false, false, "phase Pending, container scorecard-test waits: ErrImagePull"},
		"evicted":     {`{phase: Failed, reason: Evicted, message: "The node was low on memory."}`, false, true, "phase Failed, Evicted: The node was low on memory."},
		"failed":      {`{phase: Failed, containerStatuses: [{name: scorecard-test, state: {terminated: {exitCode: 1}}}]}`, true, false, "phase Failed"},
		"unscheduled": {`{phase: Pending, conditions: [{type: PodScheduled, status: "False", message: no nodes}]}`, false, false, "phase Pending, not scheduled: no nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			var status corev1.PodStatus
			if err := yaml.Unmarshal([]byte(tc.status), &status); err != nil {
				t.Fatal(err)
			}
			ended, stuck, state := podState(status)
			if ended != tc.ended || stuck != tc.stuck || state != tc.state {
				t.Errorf("ended %t, stuck %t, %q", ended, stuck, state)
			}
		})
	}
}

func TestRuns(t *testing.T) {
	var status corev1.PodStatus
	if err := yaml.Unmarshal([]byte(`{containerStatuses: [{name: a, state: {running: {}}}, {name: b, state: {waiting: {reason: ContainerCreating}}}]}`), &status); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "b": false, "c": false} {
		if got := runs(status, name); got != want {
			t.Errorf("container %s runs: %t", name, got)
		}
	}
}

func TestConfigMapsHoldEveryFileOnce(t *testing.T) {
	p := &Pods{Run: "scorecard-x", Namespace: "default"}
	files := map[string][]byte{}
	for i := range 5 {
		files[fmt.Sprintf("manifests/%d.yaml", i)] = bytes.Repeat([]byte{'x'}, configMapBytes/2-i)
	}
	list, sources, err := p.configMaps(files)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d ConfigMaps, %v; want 3", len(list), err)
	}
	var paths []string
	for _, source := range sources {
		items, _, err := unstructured.NestedSlice(source.(map[string]any), "configMap", "items")
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			paths = append(paths, item.(map[string]any)["path"].(string))
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(files)), slices.Sorted(slices.Values(paths))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, _, err := p.configMaps(map[string][]byte{"big": make([]byte, configMapBytes+1)}); err == nil {
		t.Error("a file larger than a ConfigMap was taken")
	}
}

// TestPodMounts: in a projected volume everything at the top is a link, and
// programs that walk a bundle follow none. So each is mounted by itself.
func TestPodMounts(t *testing.T) {
	p := &Pods{Run: "scorecard-x", Namespace: "default"}
	s := Subject{Files: map[string][]byte{"tests/scorecard/config.yaml": nil, "manifests/a.yaml": nil, "manifests/b.yaml": nil, "LICENSE": nil}}
	command := []string{"/bin/sh", "-c", "echo 'a: b' \"#c\"\n", "", "1"} // whatever has a meaning in YAML
	pod, err := p.pod(s, v1alpha3.TestConfiguration{Image: "example.com/my-tests:v1", Entrypoint: command})
	if err != nil {
		t.Fatal(err)
	}
	containers, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	var want []any
	for _, top := range []string{"LICENSE", "manifests", "tests"} {
		want = append(want, map[string]any{"name": "bundle", "mountPath": "/bundle/" + top, "subPath": top, "readOnly": true})
	}
	if diff := cmp.Diff(want, containers[0].(map[string]any)["volumeMounts"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if words, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "command"); err != nil || !slices.Equal(words, command) {
		t.Errorf("%q, %v", words, err)
	}
}

// TestPodStorage: a test without storage of its own has that of the configuration,
// and the sidecar is there as long as the tests may take.
func TestPodStorage(t *testing.T) {
	c, err := ParseConfig([]byte(strings.Replace(testConfig, "test: olm-crds-have-validation-test}\n", "test: olm-crds-have-validation-test}\n    storage: {spec: {mountPath: {path: /own}}}\n", 1)+
		"storage: {spec: {mountPath: {path: /all}}}\n"), "x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pods{Run: "scorecard-x", Namespace: "default", Wait: 30 * time.Minute}
	for want, test := range map[string]v1alpha3.TestConfiguration{"/all": c.Stages[1].Tests[0], "/own": c.Stages[0].Tests[1]} {
		made, err := p.pod(Subject{}, test)
		if err != nil {
			t.Fatal(err)
		}
		pod := fmt.Sprint(made.Object)
		if !strings.Contains(pod, "name:SCORECARD_STORAGE value:"+want+"]") || !strings.Contains(pod, "sleep 2800]") {
			t.Errorf("no %s for 2800s in %s", want, pod)
		}
	}
}

// TestGatherStaysInside: the labels of a test, which come from the bundle, name
// a directory and never one above.
func TestGatherStaysInside(t *testing.T) {
	for name, tt := range map[string]struct {
		test v1alpha3.TestConfiguration
		want string
	}{
		"plain":    {v1alpha3.TestConfiguration{Labels: map[string]string{"suite": "custom", "test": "first-test"}}, "custom/first-test"},
		"no suite": {v1alpha3.TestConfiguration{Labels: map[string]string{"test": "v1.2_a"}}, "v1.2_a"},
		"up":       {v1alpha3.TestConfiguration{Labels: map[string]string{"suite": "../../../.ssh", "test": ".."}}, "ssh/test"},
		"dots":     {v1alpha3.TestConfiguration{Labels: map[string]string{"suite": "..", "test": "."}}, "test"},
		"absolute": {v1alpha3.TestConfiguration{Labels: map[string]string{"suite": "/etc", "test": `c:\a`}}, "etc/c--a"},
		"program":  {v1alpha3.TestConfiguration{Entrypoint: []string{"/usr/bin/my-test"}}, "usr-bin-my-test"},
		"image":    {v1alpha3.TestConfiguration{Image: "example.com/my-tests:v1"}, "example.com-my-tests-v1"},
	} {
		t.Run(name, func(t *testing.T) {
			kept := ""
			p := &Pods{
				Exec: func(context.Context, string, string, string, []string) ([]byte, error) {
					return archive(t, "a.txt"), nil
				},
				Keep: func(_ context.Context, test string, _ map[string][]byte) error { kept = test; return nil },
			}
			if err := p.gather(t.Context(), tt.test, &unstructured.Unstructured{}); err != nil {
				t.Fatal(err)
			}
			if kept != tt.want {
				t.Errorf("kept in %q, want %q", kept, tt.want)
			}
		})
	}
}

func archive(t testing.TB, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 1, Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGatherTakesFiles: an archive that a test's image made stays below its directory.
func TestGatherTakesFiles(t *testing.T) {
	for name, want := range map[string]string{"./a.txt": "a.txt", "sub/./b.txt": "sub/b.txt", "/etc/passwd": "etc/passwd", "../a": "a", "a/../../b": "b"} {
		var kept map[string][]byte
		p := &Pods{
			Exec: func(context.Context, string, string, string, []string) ([]byte, error) { return archive(t, name), nil },
			Keep: func(_ context.Context, _ string, files map[string][]byte) error { kept = files; return nil },
		}
		err := p.gather(t.Context(), v1alpha3.TestConfiguration{}, &unstructured.Unstructured{})
		if _, ok := kept[want]; !ok || err != nil {
			t.Errorf("%s: kept %v, %v", name, kept, err)
		}
	}
}

// TestStop: the ConfigMaps are deleted where the pods cannot be.
func TestStop(t *testing.T) {
	deleted := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		const maps, one = "/api/v1/namespaces/default/configmaps", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"1"}}`
		switch {
		case r.URL.Path == "/api/v1":
			fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true},{"name":"configmaps","kind":"ConfigMap","namespaced":true}]}`)
		case r.URL.Path == maps:
			fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","items":[`+one+`]}`)
		case r.URL.Path == maps+"/a" && !deleted:
			deleted = r.Method == http.MethodDelete
			fmt.Fprint(w, one)
		case r.URL.Path == maps+"/a":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		case strings.HasSuffix(r.URL.Path, "/pods"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		default:
			fmt.Fprint(w, `{"gitVersion":"v1.36.3","kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"1"}}`)
		}
	}))
	defer s.Close()
	w := hosttest.New(t)
	config := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: %q}}], contexts: [{name: a, context: {cluster: a}}]}", s.URL)
	if err := os.WriteFile(w.Path("config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := kube.Connect(t.Context(), kube.Options{Host: w.Host, Kubeconfig: "config", Context: "a"})
	if err != nil {
		t.Fatal(err)
	}
	p := &Pods{Client: client, Run: "scorecard-x", Namespace: "default", sources: []any{}}
	if err := p.Stop(t.Context()); err == nil || !deleted {
		t.Errorf("%v; the ConfigMap was deleted: %t", err, deleted)
	}
}

// TestOnCluster runs tests against a real API server, and two as pods, which
// the embedded cluster simulates: one completes without a result, and one never
// starts.
func TestOnCluster(t *testing.T) {
	h := kubetest.World(t)
	client, err := kube.Connect(t.Context(), kube.Options{Host: h, Kubeconfig: kubetest.StartIn(t, h)})
	if err != nil {
		t.Fatal(err)
	}
	s := subject(t, nil)
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(testCRD), &crd.Object); err != nil {
		t.Fatal(err)
	}
	t.Run("kind not served", func(t *testing.T) {
		r := builtin(builtinTest("basic-check-spec"))(t.Context(), s, client)
		if r.State != v1alpha3.PassState || !strings.Contains(r.Log, "was not tried on it") {
			t.Errorf("%+v", r)
		}
	})
	if _, err := kube.Install(t.Context(), client, []*unstructured.Unstructured{&crd}, time.Minute, kube.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Run("accepted", func(t *testing.T) {
		for _, name := range []string{"basic-check-spec", "olm-crds-have-validation"} {
			if r := builtin(builtinTest(name))(t.Context(), s, client); r.State != v1alpha3.PassState || !strings.Contains(r.Log, "the API server accepts") {
				t.Errorf("%+v", r)
			}
		}
	})
	t.Run("of a namespace that the cluster lacks", func(t *testing.T) {
		s := subject(t, func(s *Subject) {
			s.CSV.Annotations["alm-examples"] = strings.Replace(s.CSV.Annotations["alm-examples"], `"metadata": {`, `"metadata": {"namespace": "shop-prod", `, 1)
		})
		if r := builtin(builtinTest("basic-check-spec"))(t.Context(), s, client); r.State != v1alpha3.PassState || !strings.Contains(r.Log, "the API server accepts") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("refused", func(t *testing.T) {
		bad := subject(t, func(s *Subject) {
			s.CSV.Annotations["alm-examples"] = strings.Replace(s.CSV.Annotations["alm-examples"], `"size": 1`, `"size": 0`, 1)
			s.CRDs[0].Spec.Names.Plural = "others"
		})
		for name, want := range map[string]string{"basic-check-spec": "spec.size", "olm-crds-have-validation": "spec.names.plural"} {
			r := builtin(builtinTest(name))(t.Context(), bad, client)
			if r.State != v1alpha3.FailState || !strings.Contains(strings.Join(r.Errors, "\n"), want) {
				t.Errorf("%s: %+v", name, r)
			}
		}
	})
	t.Run("pods", func(t *testing.T) { testPods(t, client, s) })
}

func testPods(t *testing.T, client *kube.Client, s Subject) {
	o := options(t, "suite=custom")
	o.Wait = 10 * time.Minute // until the pod has run
	o.Pods = &Pods{Client: client, Run: "scorecard-t", Namespace: "default", ServiceAccount: "default", Restricted: true}
	if err := o.Pods.Start(t.Context(), s.Files); err != nil {
		t.Fatal(err)
	}
	result := func() v1alpha3.TestResult {
		list, err := Run(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		return list.Items[0].Status.Results[0]
	}
	if r := result(); r.State != v1alpha3.ErrorState || !strings.Contains(r.Errors[0], "its log is not a test result") || !strings.Contains(r.Log, "simulated") {
		t.Errorf("%+v", r)
	}
	o.Pods.Run = "scorecard-u"
	if err := o.Pods.Start(t.Context(), s.Files); err != nil {
		t.Fatal(err)
	}
	bundle, err := client.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, kube.ListOptions{Namespace: "default", Selector: "testrun=scorecard-u"})
	if err == nil {
		_, err = client.Delete(t.Context(), bundle, kube.DeleteOptions{})
	}
	if err != nil || len(bundle) == 0 {
		t.Fatal(len(bundle), err)
	}
	o.Wait = 2 * time.Second
	if r := result(); r.State != v1alpha3.ErrorState || !strings.Contains(r.Errors[0], "not ended within 2s; phase Pending") {
		t.Errorf("%+v", r)
	}
	if err := o.Pods.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Pods.Run = "scorecard-t"
	if err := o.Pods.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Pod", "ConfigMap"} {
		left, err := client.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: kind}, kube.ListOptions{Namespace: "default", Selector: "testrun in (scorecard-t, scorecard-u)"})
		if err != nil || len(left) > 0 {
			t.Errorf("%d of kind %s left, %v", len(left), kind, err)
		}
	}
}
