package hostpods

import (
	"context"
	"errors"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/cluster/state"
)

func TestProgramsAreKept(t *testing.T) {
	l := state.Layout{Dir: t.TempDir()}
	file := filepath.Join(l.Dir, "op")
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := openPrograms(l)
	if err != nil {
		t.Fatal(err)
	}
	changed := p.watch()
	digest := "team/op@sha256:" + strings.Repeat("a", 64)
	for _, one := range []state.Program{{Image: "controller", Path: file}, {Image: digest, Problem: "not built"}} {
		if err := p.set(one); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told of the change")
	}
	again, err := openPrograms(l)
	if err != nil || cmp.Diff(p.list(), again.list()) != "" || len(again.list()) != 2 {
		t.Errorf("read again: %+v, %v", again.list(), err)
	}
	for image, want := range map[string]bool{
		"controller": true, "controller:latest": true, "docker.io/library/controller:latest": true, "controller:v1": false, "x/controller": false,
		digest: true, "team/op:v1@sha256:" + strings.Repeat("a", 64): true, "team/op:v1": false, "Not An Image": false, "": false,
	} {
		if _, found := again.find(image, ""); found != want {
			t.Errorf("find(%q) = %v", image, found)
		}
	}
	if err := again.remove("docker.io/library/controller", ""); err != nil || len(again.list()) != 1 {
		t.Errorf("after the removal: %v, %v", again.list(), err)
	}
	if err := os.WriteFile(l.Programs(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if broken, err := openPrograms(l); err != nil || len(broken.list()) != 0 {
		t.Errorf("of an unreadable file: %v, %v", broken, err)
	}
}

// TestProgramsOfWorkloads: two projects call their images the same.
func TestProgramsOfWorkloads(t *testing.T) {
	dir := t.TempDir()
	l := state.Layout{Dir: dir}
	p, err := openPrograms(l)
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		return file
	}
	one, two := state.WorkloadName("one", "Deployment", "op"), state.WorkloadName("two", "Deployment", "op")
	for _, program := range []state.Program{
		{Image: "controller:latest", Workload: one, Path: path("a")}, {Image: "controller", Path: path("a")},
		{Image: "controller:latest", Workload: two, Path: path("b")}, {Image: "controller", Path: path("b")},
	} {
		if err := p.set(program); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openPrograms(l)
	if err != nil || len(again.list()) != 3 {
		t.Fatalf("kept is %v, %v", again.list(), err)
	}
	serves := func(workload, want string) {
		t.Helper()
		got, ok := again.find("docker.io/library/controller:latest", workload)
		if filepath.Base(got.Path) != want || ok != (want != ".") {
			t.Errorf("%s is served by %s, want %s", workload, got.Path, want)
		}
	}
	serves(one, "a")
	serves(two, "b")
	serves("three/Pod/op", "b") // what was said last
	if err := again.remove("controller", one); err != nil {
		t.Fatal(err)
	}
	serves(one, "b")
	serves(two, "b")
	if err := errors.Join(again.remove("controller", two), again.remove("controller", "")); err != nil {
		t.Fatal(err)
	}
	serves(two, ".")
}

func TestProgramsRefuse(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := openPrograms(state.Layout{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	p.Handle(mux)
	for name, tc := range map[string]struct{ method, path, body, want string }{
		"no image":     {"PUT", "/programs", `{"image":"A B","path":"/x"}`, "not the name of an image"},
		"no path":      {"PUT", "/programs", `{"image":"a"}`, "is not absolute"},
		"relative":     {"PUT", "/programs", `{"image":"a","path":"x"}`, "is not absolute"},
		"both":         {"PUT", "/programs", `{"image":"a","path":"/x","problem":"y"}`, "a path and a problem"},
		"not there":    {"PUT", "/programs", `{"image":"a","path":"` + dir + `/none"}`, "no such file"},
		"no program":   {"PUT", "/programs", `{"image":"a","path":"` + plain + `"}`, "is not a program"},
		"a directory":  {"PUT", "/programs", `{"image":"a","path":"` + dir + `"}`, "is not a program"},
		"no JSON":      {"PUT", "/programs", `{`, "unexpected EOF"},
		"remove badly": {"DELETE", "/programs", "", "not the name of an image"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body)))
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("%d %s, want %s", w.Code, w.Body, tc.want)
			}
		})
	}
	if len(p.list()) > 0 {
		t.Errorf("kept is %v", p.list())
	}
}

func TestAdmissionMarksPods(t *testing.T) {
	p := &programs{byKey: map[string]state.Program{" docker.io/library/op:latest": {Image: "op"}}}
	m := processMarker{admission.NewHandler(admission.Create), p}
	pod := func(images ...string) *core.Pod {
		o := &core.Pod{}
		for _, i := range images {
			o.Spec.Containers = append(o.Spec.Containers, core.Container{Image: i})
		}
		return o
	}
	early := pod("nginx")
	early.Spec.InitContainers = []core.Container{{Image: "op:latest"}}
	for name, tc := range map[string]struct {
		pod         *core.Pod
		subresource string
		want        bool
	}{
		"served": {pod("nginx", "op"), "", true}, "init": {early, "", true}, "other": {pod("nginx"), "", false}, "binding": {pod("op"), "binding", false},
	} {
		a := admission.NewAttributesRecord(tc.pod, nil, core.Kind("Pod").WithVersion("v1"), "ns", "a", core.Resource("pods").WithVersion("v1"),
			tc.subresource, admission.Create, nil, false, nil)
		if err := m.Admit(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		if got := tc.pod.Annotations[ProcessAnnotation] == ProcessMarked; got != tc.want {
			t.Errorf("%s: marked %v", name, got)
		}
	}
}

// TestDebugContainersAreRefused: kubectl debug would wait for them for ever.
func TestDebugContainersAreRefused(t *testing.T) {
	_, plugin := Admission(&programs{})
	for subresource, want := range map[string]bool{"ephemeralcontainers": true, "": false, "status": false} {
		a := admission.NewAttributesRecord(&core.Pod{}, nil, core.Kind("Pod").WithVersion("v1"), "ns", "a", core.Resource("pods").WithVersion("v1"),
			subresource, admission.Update, nil, false, nil)
		err := plugin.(admission.MutationInterface).Admit(t.Context(), a, nil)
		if apierrors.IsForbidden(err) != want || !plugin.Handles(admission.Update) {
			t.Errorf("an update of %q: %v", subresource, err)
		}
	}
}

func running(ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func terminated(code int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
}

func TestContainersThatStayEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		policy  corev1.RestartPolicy
		init    bool
		end     ending
		over    bool
		initEnd bool // it makes the pod fail
	}{
		"well, always":              {corev1.RestartPolicyAlways, false, ending{}, false, false},
		"well, init":                {corev1.RestartPolicyAlways, true, ending{}, true, false},
		"badly, init":               {corev1.RestartPolicyAlways, true, ending{code: 1}, false, false},
		"badly, init, never":        {corev1.RestartPolicyNever, true, ending{code: 1}, true, true},
		"badly, on failure":         {corev1.RestartPolicyOnFailure, false, ending{code: 1}, false, false},
		"badly, never":              {corev1.RestartPolicyNever, false, ending{code: 1}, true, false},
		"unhealthy, never":          {corev1.RestartPolicyNever, false, ending{code: 143, cause: unhealthy{}}, true, false},
		"unhealthy, on failure":     {corev1.RestartPolicyOnFailure, false, ending{cause: unhealthy{}}, false, false},
		"another program, never":    {corev1.RestartPolicyNever, false, ending{code: 143, cause: errProgramChanged}, false, false},
		"a newer version, on error": {corev1.RestartPolicyOnFailure, false, ending{cause: errReplaced}, false, false},
	} {
		p := &hostedPod{poked: make(chan struct{}, 1), pod: &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: tc.policy}}}
		c := &container{pod: p, init: tc.init}
		p.containers = []*container{c}
		if got := c.isOver(tc.end); got != tc.over || p.initFailed() != tc.initEnd {
			t.Errorf("%s: over %v, the pod failed %v, want %v, %v", name, got, p.initFailed(), tc.over, tc.initEnd)
		}
	}
	p := &hostedPod{poked: make(chan struct{}, 1), pod: &corev1.Pod{}}
	c := &container{pod: p, spec: corev1.Container{RestartPolicy: ptr.To(corev1.ContainerRestartPolicyNever), RestartPolicyRules: []corev1.ContainerRestartRule{{
		Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
	}}}}
	if c.isOver(ending{code: 42}) || !c.isOver(ending{code: 1}) {
		t.Error("the container's own rules do not count")
	}
}

// staleLister still has what a list has given out, or what came after.
func staleLister(t *testing.T, pods ...*corev1.Pod) corelisters.PodLister {
	t.Helper()
	all := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, p := range pods {
		if err := all.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return corelisters.NewPodLister(all)
}

func TestListedPodThatIsServedAlready(t *testing.T) {
	newer := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "1", ResourceVersion: "2"}}
	older := newer.DeepCopy()
	older.ResourceVersion = "1"
	p := &hostedPod{uid: "1", pod: newer, poked: make(chan struct{}, 1)}
	m := &Pods{pods: map[types.UID]*hostedPod{"1": p}}
	m.seeListed(t.Context(), staleLister(t, newer), older)
	if p.latest() != newer {
		t.Error("the pod is what it was in an older list")
	}
}

func TestKubeconfigOfAPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	access := apiAccess{"https://127.0.0.1:1", []byte("CA")}
	for name, tc := range map[string]struct {
		mounts []corev1.VolumeMount
		want   string
	}{
		"with a token":    {[]corev1.VolumeMount{{MountPath: tokenPath}}, filepath.Join("here", "token")},
		"without a token": {nil, ""},
	} {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := access.kubeconfig(file, pod, &corev1.Container{VolumeMounts: tc.mounts}, map[string]string{tokenPath: "here"}); err != nil {
			t.Fatal(err)
		}
		config, err := clientcmd.LoadFromFile(file)
		if err != nil {
			t.Fatal(err)
		}
		user := config.AuthInfos["pod"]
		if filepath.Base(user.TokenFile) != filepath.Base(tc.want) && tc.want != "" || tc.want == "" && user.TokenFile != "" ||
			config.Contexts["pod"].Namespace != "ns" || len(user.ClientKeyData) > 0 {
			t.Errorf("%s: %+v", name, user)
		}
	}
}

func TestBeginTakesOverWhatWas(t *testing.T) {
	pod := &hostedPod{pod: &corev1.Pod{}}
	was := running(true)
	was.ContainerID, was.RestartCount = "process://5", 2
	c := &container{pod: pod}
	c.begin(was, false)
	if last := c.now.LastTerminationState.Terminated; last == nil || last.ExitCode != lostCode || c.now.RestartCount != 3 || c.run != 3 || c.now.State.Waiting == nil {
		t.Errorf("after a stop: %+v", c.now)
	}
	simulated := running(true) // of KWOK, before the program came
	c = &container{pod: pod}
	c.begin(simulated, false)
	if c.now.LastTerminationState.Terminated != nil || c.now.RestartCount != 0 {
		t.Errorf("after a simulation: %+v", c.now)
	}
	c = &container{pod: pod}
	ended := terminated(3)
	c.begin(ended, false)
	if c.now.LastTerminationState.Terminated.ExitCode != 3 || c.run != 1 {
		t.Errorf("after an end: run %d, which overwrites the log of it, %+v", c.run, c.now)
	}
	c = &container{pod: pod}
	waits := corev1.ContainerStatus{RestartCount: 4, LastTerminationState: terminated(1).State}
	waits.State.Waiting = &corev1.ContainerStateWaiting{Reason: crashLoop}
	c.begin(waits, false)
	if c.run != 5 || c.now.RestartCount != 5 {
		t.Errorf("after a back-off: run %d, which overwrites the log of the crash, %+v", c.run, c.now)
	}
	if code, _ := exitOf(errors.New("odd")); code != cannotStart {
		t.Errorf("exit code of another error: %d", code)
	}
	if code, _ := exitOf(context.Canceled); code != 0 {
		t.Errorf("exit code after a stop: %d", code)
	}
}

func TestKubeletAnswersForNobody(t *testing.T) {
	m := &Pods{client: fake.NewClientset(), pods: map[types.UID]*hostedPod{}}
	p := &hostedPod{Pods: m, namespace: "ns", name: "op", pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: map[string]string{"app": "op"}}}, logs: t.TempDir()}
	c := &container{pod: p, spec: *listening(8081), pid: 42, ports: newPorts(listening(8081), counting())}
	c.ports.move(8081)
	p.containers = []*container{c}
	m.pods["u"] = p
	for _, path := range []string{"/exec/ns/op/manager", "/portForward/ns/op", "/attach/ns/op/u/manager"} {
		w := httptest.NewRecorder()
		kubeletHandler(m).ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		if text := w.Body.String(); w.Code != http.StatusNotImplemented || !strings.Contains(text, "is process 42") || !strings.Contains(text, "its port 8081 is at 127.0.0.1:50001") {
			t.Errorf("%s: %d %s", path, w.Code, text)
		}
	}
	w := httptest.NewRecorder()
	kubeletHandler(m).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/exec/ns/op/proxy?output=1", http.NoBody))
	if strings.Contains(w.Body.String(), "is process 42") {
		t.Errorf("exec in a container beside it: %d %s", w.Code, w.Body)
	}
	for path, want := range map[string]string{
		"/containerLogs/ns/op/manager":               "has not run yet",
		"/containerLogs/ns/op/manager?previous=true": "has not run before",
		"/containerLogs/ns/op/other":                 "is simulated",
		"/containerLogs/ns/web/c":                    "is simulated",
		"/containerLogs/ns/op/manager?tailLines=x":   "invalid syntax",
	} {
		w := httptest.NewRecorder()
		kubeletHandler(m).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "op"}, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromString("p8081")}, {Port: 8081}, {Port: 80, TargetPort: intstr.FromString("none")}},
	}}
	for port, want := range map[int32]string{443: "127.0.0.1:50001", 8081: "127.0.0.1:50001", 80: "", 1: ""} {
		if got := m.Backend(service, port); got != want {
			t.Errorf("port %d is at %q, want %q", port, got, want)
		}
	}
	// One that is ready comes before a newer one that is not.
	c.now.Ready = true
	young := &hostedPod{Pods: m, namespace: "ns", name: "young", pod: p.pod.DeepCopy(), logs: t.TempDir()}
	young.pod.CreationTimestamp = metav1.Now()
	next := &container{pod: young, spec: *listening(8081), pid: 43, ports: newPorts(listening(8081), func() (int, error) { return 50077, nil })}
	next.ports.move(8081)
	young.containers = []*container{next}
	m.pods["young"] = young
	if got := m.Backend(service, 443); got != "127.0.0.1:50001" {
		t.Errorf("the pod that is ready is passed over for %q", got)
	}
	next.now.Ready = true
	if got := m.Backend(service, 443); got != "127.0.0.1:50077" {
		t.Errorf("of two that are ready it is %q, not the newer one's", got)
	}
}

func TestPodIsDeletedInTheEnd(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "op", UID: "u"}}
	client := fake.NewClientset(pod)
	failures := 2
	client.PrependReactor("delete", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
		failures--
		return failures >= 0, nil, errors.New("not now")
	})
	var said strings.Builder
	m := &Pods{client: client, log: log.New(&said, "", 0), timeouts: timeouts{retry: time.Millisecond}}
	m.remove(t.Context(), "ns", "op", "u")
	if _, err := client.CoreV1().Pods("ns").Get(t.Context(), "op", metav1.GetOptions{}); !apierrors.IsNotFound(err) || strings.Count(said.String(), "not now") != 2 {
		t.Errorf("the pod: %v, said: %s", err, said.String())
	}
	m.remove(t.Context(), "ns", "op", "u") // gone is as good
}

// TestBackOffEndsWithTheProgram: whoever corrects an operator that crashed does
// not wait until the one before would have been started again.
func TestBackOffEndsWithTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := openPrograms(state.Layout{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		old := state.Program{Image: "op:v1", Path: self, ID: "1"}
		if err := p.set(old); err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
		c := &container{
			pod:  &hostedPod{Pods: &Pods{Programs: p, events: record.NewFakeRecorder(10)}, pod: pod, poked: make(chan struct{}, 1)},
			spec: corev1.Container{Name: "manager", Image: "op:v1"},
		}
		start := time.Now()
		c.backOff(t.Context(), &launch{program: old}, time.Minute)
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the same program waits for %s", took)
		}
		time.AfterFunc(time.Second, func() {
			if err := p.set(state.Program{Image: "op:v1", Path: self, ID: "2"}); err != nil {
				t.Error(err)
			}
		})
		start = time.Now()
		c.backOff(t.Context(), &launch{program: old}, time.Minute)
		if took := time.Since(start); took != time.Second {
			t.Errorf("another program waits for %s", took)
		}
	})
}
