package hostpods

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/example/mysdk/internal/cluster/state"
)

// executable writes a program that is a script.
func executable(t *testing.T, name, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestProbeRunsItsCommand asks by a command of the program that stands in for
// the image.
func TestProbeRunsItsCommand(t *testing.T) {
	program := executable(t, "manager", `
case "$1" in
healthz) echo "$2 $WORD $(basename "$PWD")"; exit "$3";;
sleep) sleep 60;;
esac
`)
	c := &container{spec: corev1.Container{
		Command: []string{"/usr/bin/operator"}, WorkingDir: "/work", Env: []corev1.EnvVar{{Name: "CODE", Value: "4"}},
		Ports: []corev1.ContainerPort{{ContainerPort: 8081}},
	}}
	l := &launch{
		program: state.Program{Path: program}, env: []string{"WORD=sesame", "PATH=" + os.Getenv("PATH")}, dir: t.TempDir(),
		mounts: map[string]string{"/etc/op": "/here"}, ports: &ports{host: map[int]int{8081: 40001}, declared: map[int]bool{8081: true}, frozen: true},
	}
	if err := makeDirs(l.workDir(&c.spec)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		command []string
		want    string // of the error
	}{
		"succeeds":              {[]string{"/manager", "healthz", "x", "0"}, ""},
		"by the pod's own name": {[]string{"/usr/bin/operator", "healthz", "x", "3"}, "ended with exit code 3: x sesame work"},
		"with variables":        {[]string{"manager", "healthz", "x", "$(CODE)"}, "exit code 4"},
		"where the port is":     {[]string{"manager", "healthz", "--probe-addr=:8081", "1"}, "--probe-addr=127.0.0.1:40001 sesame"},
		"where nothing is":      {[]string{"manager", "healthz", "--probe-addr=:8082", "1"}, "--probe-addr=127.0.0.1:8082 sesame"},
		"where the mount is":    {[]string{"manager", "healthz", "/etc/op/file", "1"}, "/here/file"},
		"takes too long":        {[]string{"manager", "sleep"}, "timed out after 1s"},
		"of the image":          {[]string{"cat", "/tmp/ready"}, ""},
		"none":                  {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: tc.command}}, TimeoutSeconds: 60}
			if strings.Contains(tc.want, "timed out") {
				p.TimeoutSeconds = 1
			}
			err := c.ask(t.Context(), p, l)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("ask() = %v, want %q", err, tc.want)
			}
		})
	}
	if len(l.ports.host) != 1 {
		t.Errorf("a probe moved a port: %v", l.ports.host)
	}
}

// TestSkippedCommandsAreTold says once which probes and hooks have no program to run.
func TestSkippedCommandsAreTold(t *testing.T) {
	events := record.NewFakeRecorder(10)
	exec := func(command ...string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}}
	}
	c := &container{
		pod:  &hostedPod{Pods: &Pods{events: events}, pod: &corev1.Pod{}},
		spec: corev1.Container{StartupProbe: exec("/manager", "healthz"), ReadinessProbe: exec("stat", "/tmp/ready"), LivenessProbe: &corev1.Probe{}},
	}
	c.spec.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "5"}}}}
	c.tellSkipped(&launch{program: state.Program{Path: "/kept/manager"}})
	close(events.Events)
	var got []string
	for e := range events.Events {
		got = append(got, e)
	}
	want := []string{
		"Warning CommandSkipped PreStop hook counts as passed: sleep cannot be run, as only the operator's program /kept/manager of the image is available",
		"Warning CommandSkipped Readiness probe counts as passed: stat cannot be run, as only the operator's program /kept/manager of the image is available",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

func TestLimitedKeepsTheBeginning(t *testing.T) {
	var l limited
	for range 3 {
		if n, err := l.Write(make([]byte, maxProbeOutput/2+1)); err != nil || n != maxProbeOutput/2+1 {
			t.Errorf("Write() = %d, %v", n, err)
		}
	}
	if l.Len() != maxProbeOutput {
		t.Errorf("%d bytes are kept, want %d", l.Len(), maxProbeOutput)
	}
}
