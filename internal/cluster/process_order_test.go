package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func commandOfTheImageIsRun(t *testing.T, c *hosted) {
	p := playing(t, "registry.example.com/team/exact:v1")
	p.Commands = []string{"/manager"}
	if err := c.control().SetProgram(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	with := func(name string, command ...string) {
		c.post(c.apps("deployments"), operator(name, func(container object) {
			container["image"], container["command"], container["workingDir"] = p.Image, command, "/work"
		}))
	}
	with("right", "/manager", operatorArg)
	if log := c.logs(c.awaitPod("right", isReady), ""); !strings.Contains(log, "/work <nil>") {
		t.Errorf("it was not started in /work:\n%s", log)
	}
	with("wrong", "/nosuchbinary", operatorArg)
	pod := c.awaitPod("wrong", func(p object) bool { return p.container(0).at("state.waiting.reason") == "CrashLoopBackOff" })
	last, _ := pod.container(0)["lastState"].(map[string]any)
	if end := object(last).at("terminated"); object(last).at("terminated.reason") != "StartError" || object(last).at("terminated.exitCode") != 128.0 ||
		!strings.Contains(object(last).at("terminated.message").(string), `exec: "/nosuchbinary": no such file or directory`) {
		t.Errorf("it ended so: %v", end)
	}
}

// sidecarsStartAndEndInOrder has a sidecar, an init container and a container:
// each starts when the one before has started or ended, and the sidecar ends last.
func sidecarsStartAndEndInOrder(t *testing.T, c *hosted) {
	d := operator("x", nil)
	spec := d.at("spec.template.spec").(object)
	main := spec["containers"].([]object)[0]
	with := func(name string, changes object) object {
		o := object{"name": name, "image": operatorImage}
		for key, value := range changes {
			o[key] = value
		}
		return o
	}
	spec["initContainers"] = []object{
		with("beside", object{
			"restartPolicy": "Always", "args": []string{"--health-probe-bind-address=:8082", "--unready"},
			"startupProbe": object{"httpGet": object{"path": "/readyz", "port": 8082}, "periodSeconds": 1, "failureThreshold": 600, "timeoutSeconds": 60},
		}),
		with("before", object{"args": []string{"--exit=0"}}),
	}
	spec["restartPolicy"] = "Never"
	delete(main, "readinessProbe")
	c.post(c.core("pods"), object{"metadata": object{"name": "x", "labels": object{"app": "x"}}, "spec": spec})
	init := func(p object, n int) object {
		list, _ := p.at("status.initContainerStatuses").([]any)
		if n >= len(list) {
			return object{}
		}
		return object(list[n].(map[string]any))
	}
	pod := c.awaitPod("x", func(p object) bool {
		return init(p, 0).at("state.running") != nil && strings.Contains(c.logs(p, "container=beside"), "serving at")
	})
	if init(pod, 1).at("state.waiting") == nil || pod.container(0).at("state.waiting") == nil || pod.at("status.phase") != "Pending" {
		t.Fatalf("something did not wait for the sidecar: %v", pod.at("status"))
	}
	c.askIn(pod, "beside", "/unready?on=false")
	pod = c.awaitPod("x", isReady)
	if init(pod, 1).at("state.terminated.reason") != "Completed" {
		t.Errorf("the init container: %v", init(pod, 1))
	}
	c.await(c.core("pods/x"), func(p object) bool { return strings.Contains(c.logs(p, "container=manager"), "serving at") })
	c.askIn(pod, "manager", "/exit?code=0")
	pod = c.awaitPod("x", func(p object) bool {
		return p.at("status.phase") == "Succeeded" && init(p, 0).at("state.terminated") != nil
	})
	ended := func(o object) time.Time {
		at, err := time.Parse(time.RFC3339, o.at("state.terminated.finishedAt").(string))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if beside := ended(init(pod, 0)); beside.Before(ended(pod.container(0))) {
		t.Errorf("the sidecar ended first: %v", pod.at("status"))
	}
}

// failingUpdateLeavesTheOldPod has a version that crashes replace one with which it
// cannot run side by side: the older one is stopped for three tries, and goes on.
func failingUpdateLeavesTheOldPod(t *testing.T, c *hosted) {
	with := func(args ...string) object {
		return operator("op", func(container object) {
			container["args"] = append(args, "--health-probe-bind-address=:8081")
			container["ports"] = []object{{"name": "health", "containerPort": 8081}, {"name": "own", "containerPort": 18766}}
		})
	}
	c.post(c.apps("deployments"), with())
	old := c.awaitPod("op", isReady)
	c.do(http.MethodPut, c.apps("deployments/op"), with("--crash"))
	c.await(c.core("pods?labelSelector=app%3Dop"), func(object) bool {
		waits, goesOn := false, false
		for _, p := range c.pods("op") {
			if p.at("metadata.uid") == old.at("metadata.uid") {
				goesOn = isReady(p) && p.container(0)["restartCount"] == 3.0
			} else {
				waits = p.container(0).at("state.waiting.reason") == "CrashLoopBackOff" &&
					strings.Contains(fmt.Sprint(p.container(0).at("state.waiting.message")), "that of an older version runs")
			}
		}
		return waits && goesOn
	})
	c.do(http.MethodPut, c.apps("deployments/op"), with())
	c.awaitPod("op", isReady)
}
