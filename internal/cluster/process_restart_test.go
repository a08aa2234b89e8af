package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestProcessesComeAndGoWithTheCluster stops the cluster, and kills it: programs end
// with it and come back, and nothing is lost that was acknowledged.
func TestProcessesComeAndGoWithTheCluster(t *testing.T) {
	c := newHosted(t).inNamespace(t, "apart")
	c.post(c.apps("deployments"), operator("op", nil))
	before := c.awaitPod("op", isReady)
	first := c.processes()[0].PID
	c.ask(before, "/say?text=before+the+stop")
	if _, err := Stop(t.Context(), c.host, "one"); err != nil {
		t.Fatal(err)
	}
	if processLives(first) {
		t.Errorf("the cluster stands, and process %d runs", first)
	}
	if _, err := os.Stat(filepath.Join(c.cluster.StateDir, "run")); !os.IsNotExist(err) {
		t.Errorf("tokens and volumes are left: %v", err)
	}
	_, c.client = start(t, c.host, Options{Name: "one"})
	after := c.awaitPod("op", func(p object) bool { return isReady(p) && p.container(0)["restartCount"] == 1.0 })
	if after.at("metadata.uid") != before.at("metadata.uid") || after.at("status.podIP") != before.at("status.podIP") {
		t.Errorf("it is another pod: %v", after.at("status"))
	}
	if log := c.logs(after, "previous=true"); !strings.Contains(log, "before the stop\ntold to stop\n") {
		t.Errorf("the log of the time before:\n%s", log)
	}
	second := c.processes()[0].PID
	child, err := strconv.Atoi(c.ask(after, "/spawn"))
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := writeOn(c.client)
	hosttest.KillProcess(t, c.processID())
	n := <-acknowledged
	if runtime.GOOS == "linux" {
		awaitDead(t, second)
		awaitDead(t, child)
	}
	awaitUnlocked(t, c.host, "one")
	if now, err := Status(t.Context(), c.host, "one"); err != nil || now.State != Stale || now.Ready {
		t.Errorf("Status() after the kill = %+v, %v", now, err)
	}
	if left := processesIn(t, c.cluster.StateDir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	_, c.client = start(t, c.host, Options{Name: "one"})
	for i := range n {
		c.get(fmt.Sprint(configMaps, "/n-", i))
	}
	t.Logf("%d writes are there", n)
	c.awaitPod("op", func(p object) bool { return isReady(p) && p.container(0)["restartCount"] == 2.0 })
}

// processID is that of the cluster's server.
func (c *hosted) processID() int {
	c.tb.Helper()
	info, err := Status(c.tb.Context(), c.host, c.cluster.Name)
	if err != nil {
		c.tb.Fatal(err)
	}
	return info.PID
}

func TestControlOfAClusterThatDoesNotRun(t *testing.T) {
	h := testHost(t, nil, nil)
	_, err := Control(t.Context(), h, "one")
	if clierr.CodeOf(err) != clierr.CodeUnavailable || !strings.Contains(err.Error(), "does not run") || !strings.Contains(clierr.HintOf(err), "mysdk cluster start") {
		t.Errorf("%v, code %d, hint %s", err, clierr.CodeOf(err), clierr.HintOf(err))
	}
	if _, err := Control(t.Context(), h, "No Name"); clierr.CodeOf(err) != clierr.CodeUsage {
		t.Errorf("of a name that no cluster has: %v", err)
	}
}

// webhookOfAProcess has the API server call a webhook that names a Service
// of a pod that a program serves. The program speaks plain HTTP, which shows
// that it was reached.
func webhookOfAProcess(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), operator("op", nil))
	c.awaitPod("op", isReady)
	c.post(c.core("services"), object{
		"metadata": object{"name": "hook"},
		"spec":     object{"selector": object{"app": "op"}, "ports": []object{{"port": 443, "targetPort": "health"}}},
	})
	path := "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	c.post(path, object{
		"metadata": object{"name": "hook"},
		"webhooks": []object{{
			"name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": []string{"v1"},
			"clientConfig": object{"service": object{"namespace": c.namespace, "name": "hook"}},
			"rules": []object{{
				"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{"secrets"},
			}},
			"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": c.namespace}},
		}},
	})
	defer c.del(path + "/hook")
	message := c.awaitRefusal(c.core("secrets"), nil)
	if !strings.Contains(message, "server gave HTTP response to HTTPS client") {
		t.Error(message)
	}
}

func TestStatusTellsOfProcesses(t *testing.T) {
	data, err := json.Marshal(Info{Processes: []state.Process{{Pod: "a", State: "running"}}})
	if err != nil || !strings.Contains(string(data), `"processes":[{"namespace":"","pod":"a"`) {
		t.Errorf("%s, %v", data, err)
	}
}
