package hostpods

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/cluster/state"
)

// counting gives out ports from 50001 on.
func counting() func() (int, error) {
	n := 50000
	return func() (int, error) { n++; return n, nil }
}

func listening(list ...int32) *corev1.Container {
	c := &corev1.Container{Name: "manager"}
	for _, p := range list {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: "p" + strconv.Itoa(int(p)), ContainerPort: p})
	}
	return c
}

func TestPortsMoveWhatIsListenedAt(t *testing.T) {
	tests := map[string]struct {
		args, want []string
		declared   []int32
	}{
		"every address":          {args: []string{"--metrics-bind-address=:8443"}, want: []string{"--metrics-bind-address=127.0.0.1:50001"}},
		"named every address":    {args: []string{"-listen=0.0.0.0:80", "--x=[::]:81"}, want: []string{"-listen=127.0.0.1:50001", "--x=127.0.0.1:50002"}},
		"in two words":           {args: []string{"--addr", ":80"}, want: []string{"--addr", "127.0.0.1:50001"}},
		"same port again":        {args: []string{"--a=:80", "--b=:80"}, want: []string{"--a=127.0.0.1:50001", "--b=127.0.0.1:50001"}},
		"port 0 stays any":       {args: []string{"--a=:0"}, want: []string{"--a=127.0.0.1:0"}},
		"loopback to listen at":  {args: []string{"--bind-addr=127.0.0.1:80"}, want: []string{"--bind-addr=127.0.0.1:50001"}},
		"loopback to call":       {args: []string{"--upstream=127.0.0.1:80"}, want: []string{"--upstream=127.0.0.1:80"}},
		"loopback, declared":     {args: []string{"--upstream=localhost:80"}, want: []string{"--upstream=127.0.0.1:50001"}, declared: []int32{80}},
		"elsewhere":              {args: []string{"--db=db.example.com:5432", "--url=http://:80/x"}, want: []string{"--db=db.example.com:5432", "--url=http://:80/x"}},
		"number of a port":       {args: []string{"--webhook-port=9443"}, want: []string{"--webhook-port=50001"}, declared: []int32{9443}},
		"number of something":    {args: []string{"--retries=9443"}, want: []string{"--retries=9443"}, declared: []int32{9443}},
		"port that is not ours":  {args: []string{"--database-port=5432"}, want: []string{"--database-port=5432"}},
		"no flag":                {args: []string{"run", ":80"}, want: []string{"run", ":80"}},
		"value of a flag before": {args: []string{"--a=b", ":80"}, want: []string{"--a=b", ":80"}},
		"not a port":             {args: []string{"--a=:http", "--b=:99999"}, want: []string{"--a=:http", "--b=:99999"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPorts(listening(tc.declared...), counting())
			if d := cmp.Diff(tc.want, p.args(tc.args)); d != "" {
				t.Errorf("args (-want +got):\n%s", d)
			}
		})
	}
}

func TestFixedPorts(t *testing.T) {
	p := newPorts(listening(8081, 9443, 7000), counting())
	p.args([]string{"--health-probe-bind-address=:8081"})
	if d := cmp.Diff([]int{7000, 9443}, p.fixed()); d != "" {
		t.Errorf("fixed (-want +got):\n%s", d)
	}
	if p.at(8081) != 50001 || p.at(9443) != 9443 {
		t.Errorf("at = %d, %d", p.at(8081), p.at(9443))
	}
	l := &launch{ports: p, leader: true}
	if d := cmp.Diff([]string{"port 7000", "port 9443", "the work of ns/Deployment/op"}, l.claimed(owner{name: "ns/Deployment/op"})); d != "" {
		t.Errorf("claimed (-want +got):\n%s", d)
	}
	udp := &corev1.Container{Ports: []corev1.ContainerPort{{ContainerPort: 53, Protocol: corev1.ProtocolUDP}}}
	if got := newPorts(udp, counting()).fixed(); len(got) > 0 {
		t.Errorf("UDP ports are taken: %v", got)
	}
	none := newPorts(listening(), func() (int, error) { return 0, errors.New("none left") })
	if none.args([]string{"--a=:80"}); none.err == nil {
		t.Error("that no port is free is not told")
	}
}

func TestDefaultsOfScaffolds(t *testing.T) {
	all := func(string) bool { return true }
	named := listening()
	named.Ports = []corev1.ContainerPort{{Name: "http-metrics", ContainerPort: 8080}}
	tests := map[string]struct {
		container *corev1.Container
		args      []string
		knows     func(string) bool
		want      []string
	}{
		"knows none": {listening(), nil, func(string) bool { return false }, nil},
		"knows all": {listening(), nil, all, []string{
			"--health-probe-bind-address=127.0.0.1:50001", "--webhook-port=50002", "--webhook-host=127.0.0.1", "--metrics-bind-address=0",
		}},
		"uses them":          {listening(), []string{"--metrics-bind-address", "x", "-webhook-port=1", "--webhook-host=z", "--health-probe-bind-address=y"}, all, nil},
		"has a port":         {listening(), []string{"--metrics-bind-address", "x", "-webhook-port=1", "--health-probe-bind-address=y"}, all, []string{"--webhook-host=127.0.0.1"}},
		"metrics are called": {named, []string{"-webhook-port=1", "--webhook-host=z", "--health-probe-bind-address=y"}, all, []string{"--metrics-bind-address=127.0.0.1:50001"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, newPorts(tc.container, counting()).defaults(tc.container, tc.args, tc.knows)); d != "" {
				t.Errorf("flags (-want +got):\n%s", d)
			}
		})
	}
}

func TestFreeLoopbackPort(t *testing.T) {
	port, err := freeLoopbackPort()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestHabits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "op")
	if err := os.WriteFile(file, []byte("\x7fELF..webhook-portmetrics-bind-address.."), 0o700); err != nil {
		t.Fatal(err)
	}
	var l library
	h, err := l.of(state.Program{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	if !h.knows("webhook-port") || h.knows("health-probe-bind-address") || h.electsNobody() {
		t.Errorf("flagProbe = %+v", h)
	}
	added := []string{"--webhook-port=1"}
	for _, step := range []struct {
		words string
		want  bool
	}{
		{"panic: no idea", false},
		{"flag provided but not defined: -other", false}, // the user's own mistake
		{"flag provided but not defined: -webhook-port", true},
		{"Error: unknown flag: --webhook-port", false}, // known by now
		{`"error":"unable to find leader election namespace: not running in-cluster, please specify LeaderElectionNamespace"`, true},
		{`"error":"unable to find leader election namespace: not running in-cluster, please specify LeaderElectionNamespace"`, false},
	} {
		if got := h.learn(step.words, added); got != step.want {
			t.Errorf("learn(%s) = %v", step.words, got)
		}
	}
	if again, err := l.of(state.Program{Path: file}); err != nil || again != h || again.knows("webhook-port") || !again.electsNobody() {
		t.Errorf("the second time: %+v, %v", again, err)
	}
	if err := os.Chtimes(file, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if other, err := l.of(state.Program{Path: file}); err != nil || other == h || !other.knows("webhook-port") {
		t.Errorf("of a new build: %+v, %v", other, err)
	}
	if _, err := l.of(state.Program{Path: file + "x"}); err == nil {
		t.Error("of a program that is not there: no error")
	}
	got := withoutElection([]string{"run", "--leader-elect", "--leader-elect-id=x", "-enable-leader-election=true", "--a"})
	if d := cmp.Diff([]string{"run", "--leader-elect-id=x", "--a"}, got); d != "" {
		t.Errorf("withoutElection (-want +got):\n%s", d)
	}
}

func TestRelocate(t *testing.T) {
	mounts := map[string]string{"/etc/op": "/run/a", "/etc/op/certs": "/run/b", "/tmp": "/run/tmp"}
	for text, want := range map[string]string{
		"/etc/op":                        "/run/a",
		"/etc/op/file":                   "/run/a/file",
		"/etc/op/certs/tls.crt":          "/run/b/tls.crt",
		"/etc/operator":                  "/etc/operator",
		"/usr/etc/op":                    "/usr/etc/op",
		"--dir=/etc/op,/tmp:x":           "--dir=/run/a,/run/tmp:x",
		"file:///tmp/x":                  "file:///run/tmp/x",
		`{"path":"/etc/op"}`:             `{"path":"/run/a"}`,
		"nothing":                        "nothing",
		"":                               "",
		"https://example.com/tmp/etc/op": "https://example.com/tmp/etc/op",
	} {
		if got := relocate(text, mounts); got != want {
			t.Errorf("relocate(%s) = %s, want %s", text, got, want)
		}
	}
}

func FuzzRelocate(f *testing.F) {
	f.Add("--dir=/etc/op", "/etc/op")
	f.Fuzz(func(t *testing.T, text, path string) {
		if path == "" {
			return
		}
		if got := relocate(text, map[string]string{path: path}); got != text {
			t.Errorf("relocate(%q) = %q", text, got)
		}
	})
}

func TestCleanEnvironment(t *testing.T) {
	has := map[string]string{"PATH": "/bin", "LANG": "C", "HOME": "/home/me", "KUBECONFIG": "/home/me/.kube/config", "AWS_SECRET_ACCESS_KEY": "x", "SSH_AUTH_SOCK": "y"}
	got := environ(cleanEnvironment(func(name string) string { return has[name] }, "/root"))
	want := []string{"HOME=/root", "LANG=C", "PATH=/bin", "TMPDIR=" + filepath.Join("/root", "tmp")}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
}

func TestCommandLine(t *testing.T) {
	tests := map[string]struct {
		program       state.Program
		command, args []string
		want          []string
	}{
		"of the image":                {program: state.Program{Args: []string{"run"}}, want: []string{"run"}},
		"arguments of the container":  {program: state.Program{Args: []string{"run"}}, args: []string{"--y"}, want: []string{"run", "--y"}},
		"command of the container":    {program: state.Program{Args: []string{"run"}}, command: []string{"/manager", "go"}, want: []string{"go"}},
		"both of the container":       {command: []string{"/manager", "go"}, args: []string{"--a=$(A)", "--b=$$(A)", "/data/x"}, want: []string{"go", "--a=1", "--b=$(A)", "/here/x"}},
		"leader election is its own":  {args: []string{"--leader-elect"}, want: []string{"--leader-elect"}},
		"addresses are moved in both": {program: state.Program{Args: []string{"--a=:80"}}, want: []string{"--a=127.0.0.1:50001"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := listening()
			c.Command, c.Args = tc.command, tc.args
			l := &launch{program: tc.program, flagProbe: &flagProbe{}, ports: newPorts(c, counting())}
			l.commandLine(c, map[string]string{"A": "1"}, map[string]string{"/data": "/here"})
			if d := cmp.Diff(tc.want, l.args); d != "" {
				t.Errorf("arguments (-want +got):\n%s", d)
			}
		})
	}
	for name, tc := range map[string]struct{ args, want []string }{
		"behind a command":           {[]string{"--leader-elect", "--x", "last"}, []string{"serve", "--webhook-port=50001", "--x", "last"}},
		"before what ends the flags": {[]string{"--leader-elect", "config.yaml"}, []string{"serve", "--webhook-port=50001", "config.yaml"}},
	} {
		l := &launch{program: state.Program{Args: []string{"serve"}}, flagProbe: &flagProbe{known: map[string]bool{"webhook-port": true}, noLease: true}, ports: newPorts(listening(), counting())}
		c := listening()
		c.Args = tc.args
		l.commandLine(c, nil, nil)
		if d := cmp.Diff(tc.want, l.args); d != "" || !l.leader {
			t.Errorf("%s, without its election, leader %v (-want +got):\n%s", name, l.leader, d)
		}
	}
}

func TestCommandOfTheImage(t *testing.T) {
	exact, loose := []string{"/manager"}, []string{"/usr/bin/op", "manager"}
	for name, tc := range map[string]struct {
		commands, command []string
		dir, path         string
		found             bool
	}{
		"no command":            {exact, nil, "", "", true},
		"nothing is known":      {nil, []string{"/any"}, "", "", true},
		"its path":              {exact, []string{"/manager", "run"}, "", "", true},
		"its path, long":        {exact, []string{"//x/../manager"}, "", "", true},
		"another one":           {exact, []string{"/nosuchbinary"}, "", "", false},
		"elsewhere":             {exact, []string{"/bin/manager"}, "", "", false},
		"from the directory":    {exact, []string{"./manager"}, "", "", true},
		"from another":          {exact, []string{"./manager"}, "/work", "", false},
		"not in PATH":           {exact, []string{"manager"}, "", "", false},
		"in the container's":    {exact, []string{"manager"}, "", "/opt:/", true},
		"in PATH":               {loose, []string{"op"}, "", "", true},
		"by name, anywhere":     {loose, []string{"/somewhere/manager"}, "", "", true},
		"by name, something":    {loose, []string{"/somewhere/op"}, "", "", false},
		"named by a variable":   {exact, []string{"$(OP)"}, "", "", true},
		"by a variable, absent": {exact, []string{"$(NONE)"}, "", "", false},
	} {
		c := &corev1.Container{Command: tc.command, WorkingDir: tc.dir}
		l := &launch{program: state.Program{Commands: tc.commands}}
		if err := l.findCommand(c, map[string]string{"PATH": tc.path, "OP": "/manager"}); (err == nil) != tc.found {
			t.Errorf("%s: findCommand() = %v", name, err)
		}
	}
}

func TestShellOf(t *testing.T) {
	for want, c := range map[string]*corev1.Container{
		"sh":   {Command: []string{"/bin/sh", "-c", "/manager"}},
		"bash": {Command: []string{"bash"}, Args: []string{"-c", "x"}},
		"":     {Command: []string{"/manager", "-c", "file"}},
	} {
		if got := shellOf(c); got != want {
			t.Errorf("shellOf(%v) = %q", c.Command, got)
		}
	}
}

func TestClaims(t *testing.T) {
	var c claims
	pod := func(name string) *container { return &container{pod: &hostedPod{namespace: "ns", name: name}} }
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	old := holder{container: pod("old"), owner: owner{"ns/Deployment/op", "1"}, created: at(1), seen: 1}
	sibling := holder{container: pod("sibling"), owner: old.owner, created: at(2), seen: 2}
	renewed := holder{container: pod("new"), owner: owner{"ns/Deployment/op", "2"}, created: at(1), seen: 3}
	other := holder{container: pod("other"), owner: owner{"ns/Deployment/x", "1"}, created: at(9), seen: 4}
	names := []string{"port 9443"}
	for range 2 { // again for a restart
		if way, err := c.take(old, names); way != nil || err != nil {
			t.Fatalf("take() = %v, %v", way, err)
		}
	}
	for reason, h := range map[string]holder{"CreateContainerError": other, standby: sibling} {
		var why waiting
		if way, err := c.take(h, names); way != nil || !errors.As(err, &why) || why.reason != reason || !strings.Contains(why.message, "port 9443 is taken by pod ns/old") {
			t.Errorf("%s: take() = %v, %v", reason, way, err)
		}
	}
	if way, err := c.take(renewed, names); way != old.container || err != nil {
		t.Errorf("a newer version: take() = %v, %v", way, err)
	}
	c.drop(old.container)
	if way, err := c.take(old, names); way != nil || err == nil {
		t.Errorf("the older one, which starts again first: take() = %v, %v", way, err)
	}
	if way, err := c.take(renewed, names); way != nil || err != nil {
		t.Errorf("after the older one: take() = %v, %v", way, err)
	}
	if way, err := c.take(old, names); way != nil || err == nil {
		t.Errorf("the older one again: take() = %v, %v", way, err)
	}
	c.drop(renewed.container)
	if way, err := c.take(old, names); way != nil || err != nil {
		t.Errorf("the older one, after a crash of the newer: take() = %v, %v", way, err)
	}
	failed := renewed
	failed.failed = true
	var why waiting
	if way, err := c.take(failed, names); way != nil || !errors.As(err, &why) || why.reason != crashLoop {
		t.Errorf("the newer one, which has failed: take() = %v, %v", way, err)
	}
	if way, err := c.take(renewed, names); way != old.container || err != nil {
		t.Errorf("with another program: take() = %v, %v", way, err)
	}
	c.drop(renewed.container) // it goes before the older one has
	c.drop(old.container)
	if way, err := c.take(other, names); way != nil || err != nil {
		t.Errorf("when all have gone: take() = %v, %v", way, err)
	}
}

func TestOwnerOf(t *testing.T) {
	of := func(kind, name string, labels map[string]string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", Labels: labels}}
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: "u", Controller: ptr.To(true)}}
		}
		return p
	}
	for want, pod := range map[string]*corev1.Pod{
		"ns/Deployment/op":    of("ReplicaSet", "op-abc", map[string]string{"pod-template-hash": "abc"}),
		"ns/ReplicaSet/plain": of("ReplicaSet", "plain", nil),
		"ns/StatefulSet/db":   of("StatefulSet", "db", nil),
		"ns/Pod/pod":          of("", "", nil),
	} {
		if got := ownerOf(pod).name; got != want {
			t.Errorf("ownerOf() = %s, want %s", got, want)
		}
	}
}

// TestFreeAddressEnds: a network without a free address has none.
func TestFreeAddressEnds(t *testing.T) {
	m := &Pods{pods: map[types.UID]*hostedPod{}}
	for i := range 1 << 16 {
		m.pods[types.UID(strconv.Itoa(i))] = &hostedPod{address: fmt.Sprintf("%s.%d.%d", processNetwork, i>>8, i&0xff)}
	}
	if got := m.freeAddress(&corev1.Pod{}); got != "" {
		t.Errorf("freeAddress() = %q", got)
	}
	delete(m.pods, "258")
	if got := m.freeAddress(&corev1.Pod{}); got != processNetwork+".1.2" {
		t.Errorf("freeAddress() = %q where one is free", got)
	}
}

func TestPortNumber(t *testing.T) {
	c := listening(8081)
	for port, want := range map[intstr.IntOrString]int{intstr.FromInt(7): 7, intstr.FromString("p8081"): 8081, intstr.FromString("none"): 0} {
		got, err := portNumber(c, port)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("portNumber(%v) = %d, %v", port, got, err)
		}
	}
}
