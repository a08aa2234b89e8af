package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// operatorImage is served by the test binary in all of these tests.
const operatorImage = "registry.example.com/team/operator:v1"

// playing is the program of an image that the test binary plays.
func playing(tb testing.TB, image string) state.Program {
	tb.Helper()
	path, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return state.Program{Image: image, Path: path, Args: []string{operatorArg}, ID: "sha256:one", Source: "the tests"}
}

// hosted is a cluster on which operatorImage is served, and a namespace in it.
type hosted struct {
	*client
	tb        testing.TB
	host      host.Host
	cluster   *Info
	namespace string
}

func newHosted(tb testing.TB) *hosted {
	tb.Helper()
	h := realHost(tb)
	info, c := start(tb, h, Options{Name: "one"})
	all := &hosted{client: c, tb: tb, host: h, cluster: info}
	if err := all.control().SetProgram(tb.Context(), playing(tb, operatorImage)); err != nil {
		tb.Fatal(err)
	}
	return all
}

func (c *hosted) control() state.Control {
	c.tb.Helper()
	control, err := Control(c.tb.Context(), c.host, "one")
	if err != nil {
		c.tb.Fatal(err)
	}
	return control
}

// on is the same cluster for a part of the test.
func (c *hosted) on(t *testing.T) *hosted {
	t.Helper()
	return &hosted{client: newClient(t, c.cluster), tb: t, host: c.host, cluster: c.cluster}
}

// inNamespace is on with a namespace of its own.
func (c *hosted) inNamespace(t *testing.T, name string) *hosted {
	t.Helper()
	own := c.on(t)
	own.namespace = name
	own.post("/api/v1/namespaces", object{"metadata": object{"name": name}})
	own.await("/api/v1/namespaces/"+name+"/serviceaccounts/default", func(object) bool { return true })
	own.await(own.core("configmaps/kube-root-ca.crt"), func(object) bool { return true })
	return own
}

func (c *hosted) core(rest string) string { return "/api/v1/namespaces/" + c.namespace + "/" + rest }
func (c *hosted) apps(rest string) string {
	return "/apis/apps/v1/namespaces/" + c.namespace + "/" + rest
}

// operator is a Deployment as scaffolds have it: the same fixed addresses for
// every operator.
func operator(name string, change func(container object)) object {
	d := deployment(name, 1)
	spec := d.at("spec.template.spec").(object)
	probe := func(path string) object {
		return object{"httpGet": object{"path": path, "port": 8081}, "initialDelaySeconds": 5, "periodSeconds": 1, "timeoutSeconds": 60}
	}
	container := object{
		"name": "manager", "image": operatorImage,
		"args":           []string{"--health-probe-bind-address=:8081"},
		"ports":          []object{{"name": "health", "containerPort": 8081}},
		"readinessProbe": probe("/readyz"),
	}
	if change != nil {
		change(container)
	}
	spec["containers"] = []object{container}
	spec["terminationGracePeriodSeconds"] = 2
	return d
}

// at of nested objects that the tests made themselves.
func (c *hosted) pods(app string) []object {
	list, ok := c.get(c.core("pods?labelSelector=app%3D" + app))["items"].([]any)
	if !ok {
		return nil
	}
	var pods []object
	for _, p := range list {
		pods = append(pods, object(p.(map[string]any)))
	}
	return pods
}

// container is a container's status in a pod.
func (o object) container(n int) object {
	list, ok := o.at("status.containerStatuses").([]any)
	if !ok || n >= len(list) {
		return object{}
	}
	return object(list[n].(map[string]any))
}

// awaitPod waits for the only pod of an app to pass, and returns it.
func (c *hosted) awaitPod(app string, pass func(object) bool) object {
	c.tb.Helper()
	deadline := time.Now().Add(testTimeout)
	for {
		pods := c.pods(app)
		if len(pods) == 1 && pass(pods[0]) {
			return pods[0]
		}
		if time.Now().After(deadline) {
			text, err := json.MarshalIndent(pods, "", " ")
			c.tb.Fatalf("pods of %s: %s %v", app, text, err)
		}
		time.Sleep(pollInterval)
	}
}

// isReady is a condition on a pod.
func isReady(pod object) bool { return pod.condition("Ready") == "True" }

// condition is the status of a pod's condition.
func (o object) condition(kind string) any {
	list, _ := o.at("status.conditions").([]any)
	for _, c := range list {
		if one := object(c.(map[string]any)); one["type"] == kind {
			return one["status"]
		}
	}
	return nil
}

// logs returns what kubectl logs would print.
func (c *hosted) logs(pod object, query string) string {
	c.tb.Helper()
	resp := c.logStream(pod, query)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.tb.Fatal(err)
	}
	return string(text)
}

func (c *hosted) logStream(pod object, query string) *http.Response {
	c.tb.Helper()
	path := c.server + c.core(fmt.Sprintf("pods/%v/log?%s", pod.at("metadata.name"), query))
	r, err := http.NewRequestWithContext(c.tb.Context(), http.MethodGet, path, http.NoBody)
	if err != nil {
		c.tb.Fatal(err)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		c.tb.Fatal(err)
	}
	return resp
}

// ask asks the played operator in a pod.
func (c *hosted) ask(pod object, path string) string {
	c.tb.Helper()
	return c.askIn(pod, "", path)
}

// askIn is ask of a pod with several containers.
func (c *hosted) askIn(pod object, container, path string) string {
	c.tb.Helper()
	log := c.logs(pod, "container="+container)
	found := regexp.MustCompile(`(?m)^serving at (.*)$`).FindAllStringSubmatch(log, -1)
	if len(found) == 0 {
		c.tb.Fatalf("it does not say where it serves: %s", log)
	}
	r, err := http.NewRequestWithContext(c.tb.Context(), http.MethodGet, "http://"+found[len(found)-1][1]+path, http.NoBody)
	if err != nil {
		c.tb.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error() // it was asked to exit
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// events are the reasons of a pod's events.
func (c *hosted) events(pod object) []string {
	list, _ := c.get(c.core(fmt.Sprintf("events?fieldSelector=involvedObject.uid%%3D%v", pod.at("metadata.uid"))))["items"].([]any)
	var reasons []string
	for _, e := range list {
		one := object(e.(map[string]any))
		reasons = append(reasons, fmt.Sprint(one["reason"]))
	}
	return reasons
}

// awaitEvent waits for an event about a pod, which is written after its status.
func (c *hosted) awaitEvent(pod object, reason string) {
	c.tb.Helper()
	for deadline := time.Now().Add(testTimeout); !slices.Contains(c.events(pod), reason); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			c.tb.Fatalf("events %q, and not %s", c.events(pod), reason)
		}
	}
}

// processes are those of a namespace that the cluster reports.
func (c *hosted) processes() []state.Process {
	c.tb.Helper()
	info, err := Status(c.tb.Context(), c.host, c.cluster.Name)
	if err != nil {
		c.tb.Fatal(err)
	}
	return slices.DeleteFunc(info.Processes, func(p state.Process) bool { return p.Namespace != c.namespace })
}

func processLives(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// awaitDead waits for the end of a process.
func awaitDead(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(testTimeout)
	for processLives(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
		time.Sleep(pollInterval)
	}
}
