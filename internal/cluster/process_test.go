package cluster

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
)

// processes are about pods that programs serve.
func processes() map[string]func(*testing.T, *hosted) {
	return map[string]func(*testing.T, *hosted){
		"environment":         processGetsItsPodsEnvironment,
		"permissions":         processHasItsPodsPermissions,
		"volumes":             processSeesItsVolumes,
		"probes":              processIsProbed,
		"liveness":            unhealthyProcessStartsAnew,
		"crash":               crashingProcessIsShown,
		"rolling-update":      processesReplaceEachOther,
		"failing-update":      failingUpdateLeavesTheOldPod,
		"logs":                processLogIsFollowed,
		"delete":              deletedPodEndsItsProcess,
		"two-containers":      otherContainersAreSimulated,
		"missing-config":      missingConfigIsShown,
		"leader-election":     leaderElectionIsLeftOut,
		"simulated-otherwise": otherImagesAreSimulated,
		"registered-later":    podIsTakenOver,
		"problem":             problemIsShown,
		"marked-by-hand":      markedPodIsNotSimulated,
		"changed":             changedProgramStartsAnew,
		"completes":           processOfAJobCompletes,
		"command":             commandOfTheImageIsRun,
		"sidecars":            sidecarsStartAndEndInOrder,
		"hooked":              webhookOfAProcess,
	}
}

func processGetsItsPodsEnvironment(t *testing.T, c *hosted) {
	c.post(c.core("configmaps"), object{"metadata": object{"name": "settings"}, "data": object{"LEVEL": "high", "color": "red"}})
	c.post(c.core("secrets"), object{"metadata": object{"name": "hidden"}, "stringData": object{"word": "sesame"}})
	field := func(name, path string) object {
		return object{"name": name, "valueFrom": object{"fieldRef": object{"fieldPath": path}}}
	}
	d := operator("op", func(container object) {
		container["args"] = []string{"--health-probe-bind-address=:8081", "--config=/etc/$(LEVEL)/$(MISSING)"}
		container["envFrom"] = []object{{"configMapRef": object{"name": "settings"}, "prefix": ""}}
		container["env"] = []object{
			field("WATCH_NAMESPACE", "metadata.annotations['olm.targetNamespaces']"),
			field("POD_NAMESPACE", "metadata.namespace"), field("POD_NAME", "metadata.name"), field("POD_IP", "status.podIP"),
			{"name": "COLOR", "valueFrom": object{"configMapKeyRef": object{"name": "settings", "key": "color"}}},
			{"name": "WORD", "valueFrom": object{"secretKeyRef": object{"name": "hidden", "key": "word"}}},
			{"name": "NONE", "valueFrom": object{"secretKeyRef": object{"name": "hidden", "key": "none", "optional": true}}},
			{"name": "BOTH", "value": "$(COLOR)-$(WORD)"},
		}
	})
	template := d.at("spec.template.metadata").(object)
	template["annotations"] = object{"olm.targetNamespaces": "a,b"}
	c.post(c.apps("deployments"), d)
	pod := c.awaitPod("op", isReady)
	log := c.logs(pod, "")
	for _, want := range []string{
		"WATCH_NAMESPACE=a,b", "POD_NAMESPACE=" + c.namespace, fmt.Sprint("POD_NAME=", pod.at("metadata.name")), "POD_IP=127.0.0.1", fmt.Sprint("HOSTNAME=", pod.at("metadata.name")),
		"LEVEL=high", "COLOR=red", "WORD=sesame", "BOTH=red-sesame",
	} {
		if !strings.Contains(log, "env: "+want+"\n") {
			t.Errorf("the environment lacks %s", want)
		}
	}
	if !strings.Contains(log, "--config=/etc/high/$(MISSING)") || !regexp.MustCompile(`--health-probe-bind-address=127\.0\.0\.1:\d+`).MatchString(log) {
		t.Errorf("the arguments are not those of the pod:\n%s", log)
	}
	allowed := regexp.MustCompile(`^(WATCH_NAMESPACE|POD_\w+|LEVEL|color|COLOR|WORD|BOTH|PATH|LANG|TZ|TMPDIR|HOME|PWD|HOSTNAME|KUBECONFIG|MYSDK_TIED_TO)=`)
	for _, m := range regexp.MustCompile(`(?m)^env: (.*)$`).FindAllStringSubmatch(log, -1) {
		if !allowed.MatchString(m[1]) {
			t.Errorf("the environment has %s", m[1])
		}
		if key, value, _ := strings.Cut(m[1], "="); (key == "HOME" || key == "KUBECONFIG" || key == "TMPDIR") && !strings.HasPrefix(value, c.cluster.StateDir) {
			t.Errorf("%s is not the pod's own", m[1])
		}
	}
	if ip := fmt.Sprint(pod.at("status.podIP")); !strings.HasPrefix(ip, "240.3.") {
		t.Errorf("the pod's address is %s", ip)
	}
	status := pod.container(0)
	if status["imageID"] != "sha256:one" || status.at("state.running.startedAt") == nil || status["restartCount"] != 0.0 || pod.at("status.phase") != "Running" {
		t.Errorf("status = %v", status)
	}
	c.awaitEvent(pod, "Pulled")
	c.awaitEvent(pod, "Started")
	if list := c.processes(); len(list) != 1 || list[0].State != "running" || !list[0].Ready || !processLives(list[0].PID) {
		t.Errorf("the cluster tells of %+v", list)
	}
}

func processHasItsPodsPermissions(t *testing.T, c *hosted) {
	rbac := "/apis/rbac.authorization.k8s.io/v1/namespaces/" + c.namespace + "/"
	c.post(c.core("serviceaccounts"), object{"metadata": object{"name": "op"}})
	c.post(rbac+"roles", object{"metadata": object{"name": "op"}, "rules": []object{
		{"apiGroups": []string{""}, "resources": []string{"configmaps"}, "verbs": []string{"list"}},
	}})
	c.post(rbac+"rolebindings", object{
		"metadata": object{"name": "op"}, "subjects": []object{{"kind": "ServiceAccount", "name": "op", "namespace": c.namespace}},
		"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "op"},
	})
	d := operator("op", nil)
	d.at("spec.template.spec").(object)["serviceAccountName"] = "op"
	c.post(c.apps("deployments"), d)
	pod := c.awaitPod("op", isReady)
	for path, want := range map[string]string{
		c.core("configmaps"):                    "200",
		c.core("secrets"):                       "403",
		"/api/v1/namespaces/default/configmaps": "403",
	} {
		if got := c.ask(pod, "/api?path="+url.QueryEscape(path)); !strings.HasPrefix(got, want) {
			t.Errorf("%s answers %s, want %s", path, got, want)
		}
	}
	bare := operator("bare", nil)
	bare.at("spec.template.spec").(object)["automountServiceAccountToken"] = false
	c.post(c.apps("deployments"), bare)
	if got := c.ask(c.awaitPod("bare", isReady), "/api?path="+url.QueryEscape(c.core("configmaps"))); !strings.HasPrefix(got, "403") {
		t.Errorf("a pod without a token is answered %s", got)
	}
}

func processSeesItsVolumes(t *testing.T, c *hosted) {
	c.post(c.core("configmaps"), object{"metadata": object{"name": "settings"}, "data": object{"file": "old"}})
	d := operator("op", func(container object) {
		container["args"] = []string{"--health-probe-bind-address=:8081", "--config", "/etc/op/settings/file"}
		container["volumeMounts"] = []object{{"name": "settings", "mountPath": "/etc/op/settings"}, {"name": "scratch", "mountPath": "/tmp/scratch"}}
	})
	d.at("spec.template.spec").(object)["volumes"] = []object{
		{"name": "settings", "configMap": object{"name": "settings"}}, {"name": "scratch", "emptyDir": object{}},
	}
	c.post(c.apps("deployments"), d)
	pod := c.awaitPod("op", isReady)
	if got := c.ask(pod, "/config"); got != "old<nil>" {
		t.Errorf("the file holds %s", got)
	}
	c.do(http.MethodPut, c.core("configmaps/settings"), object{"metadata": object{"name": "settings"}, "data": object{"file": "new"}})
	deadline := time.Now().Add(testTimeout)
	for c.ask(pod, "/config") != "new<nil>" {
		if time.Now().After(deadline) {
			t.Fatal("the file does not follow its ConfigMap")
		}
		time.Sleep(pollInterval)
	}
	dir := filepath.Join(c.cluster.StateDir, "run", "pods", fmt.Sprint(pod.at("metadata.uid"))[:8])
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the pod's directory: %v, %v", info, err)
	}
	c.del(c.apps("deployments/op"))
	c.await(c.core("pods?labelSelector=app%3Dop"), isEmpty)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the pod's directory is left: %v", err)
	}
}

func processIsProbed(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), operator("op", nil))
	pod := c.awaitPod("op", isReady)
	c.await(c.apps("deployments/op"), is("status.availableReplicas", 1.0))
	c.ask(pod, "/unready")
	pod = c.awaitPod("op", func(p object) bool { return !isReady(p) })
	if pod.container(0)["ready"] != false || pod.container(0)["restartCount"] != 0.0 || pod.at("status.phase") != "Running" {
		t.Errorf("status = %v", pod.at("status"))
	}
	c.awaitEvent(pod, "Unhealthy")
	c.ask(pod, "/unready?on=false")
	c.awaitPod("op", isReady)
}

func unhealthyProcessStartsAnew(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), operator("op", func(container object) {
		container["livenessProbe"] = object{"httpGet": object{"path": "/healthz", "port": "health"}, "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 60}
	}))
	pod := c.awaitPod("op", isReady)
	first := c.processes()[0].PID
	c.ask(pod, "/unhealthy")
	pod = c.awaitPod("op", func(p object) bool { return p.container(0)["restartCount"] == 1.0 && isReady(p) })
	awaitDead(t, first)
	if now := c.processes()[0].PID; now == first || !processLives(now) {
		t.Errorf("process %d runs, before it was %d", now, first)
	}
	if last := fmt.Sprint(pod.container(0).at("lastState.terminated.message")); !strings.Contains(last, "liveness probe failed") {
		t.Errorf("the last state says %s", last)
	}
}

func crashingProcessIsShown(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), operator("op", func(container object) { container["args"] = []string{"--crash"} }))
	pod := c.awaitPod("op", func(p object) bool {
		restarts, _ := p.container(0)["restartCount"].(float64) // each number lasts for seconds only
		return restarts >= 1 && p.container(0).at("state.waiting.reason") == "CrashLoopBackOff"
	})
	last := pod.container(0)
	if last.at("lastState.terminated.exitCode") != 3.0 || last.at("lastState.terminated.reason") != "Error" ||
		!strings.Contains(fmt.Sprint(last.at("lastState.terminated.message")), "cannot go on") {
		t.Errorf("status = %v", last)
	}
	if isReady(pod) || pod.at("status.phase") != "Running" {
		t.Errorf("status = %v", pod.at("status"))
	}
	for _, query := range []string{"", "previous=true", "tailLines=1"} {
		right := func(log string) bool {
			return strings.Contains(log, "cannot go on\n") && strings.Contains(log, "args:") != (query == "tailLines=1")
		}
		log := c.logs(pod, query)
		for end := time.Now().Add(testTimeout); !right(log) && time.Now().Before(end); log = c.logs(pod, query) {
			time.Sleep(pollInterval) // it may be starting again
		}
		if !right(log) {
			t.Errorf("log?%s:\n%s", query, log)
		}
	}
	c.awaitEvent(pod, "BackOff")
	if d := c.get(c.apps("deployments/op")); d.at("status.availableReplicas") != nil {
		t.Errorf("the Deployment says %v", d.at("status"))
	}
}

func processesReplaceEachOther(t *testing.T, c *hosted) {
	d := operator("op", nil)
	c.post(c.apps("deployments"), d)
	old := c.awaitPod("op", isReady)
	first := c.processes()[0].PID
	d.at("spec.template.metadata").(object)["annotations"] = object{"version": "2"}
	c.do(http.MethodPut, c.apps("deployments/op"), d)
	now := c.awaitPod("op", func(p object) bool { return p.at("metadata.uid") != old.at("metadata.uid") && isReady(p) })
	awaitDead(t, first)
	if now.container(0)["restartCount"] != 0.0 {
		t.Errorf("the new pod had to start again: %v", now.at("status"))
	}
	// A port that no flag moves can belong to one process only.
	fixed := operator("fixed", func(container object) {
		container["ports"] = []object{{"name": "health", "containerPort": 8081}, {"name": "own", "containerPort": 18765}}
	})
	c.post(c.apps("deployments"), fixed)
	old = c.awaitPod("fixed", isReady)
	fixed.at("spec.template.metadata").(object)["annotations"] = object{"version": "2"}
	c.do(http.MethodPut, c.apps("deployments/fixed"), fixed)
	now = c.awaitPod("fixed", func(p object) bool { return p.at("metadata.uid") != old.at("metadata.uid") && isReady(p) })
	c.awaitEvent(now, "Replacing")
}

func processLogIsFollowed(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), operator("op", nil))
	pod := c.awaitPod("op", isReady)
	resp := c.logStream(pod, "follow=true&tailLines=1")
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "serving at") {
		t.Fatalf("the first line is %q, %v", lines.Text(), lines.Err())
	}
	c.ask(pod, "/say?text=something+new")
	if !lines.Scan() || lines.Text() != "something new" {
		t.Fatalf("the next line is %q, %v", lines.Text(), lines.Err())
	}
	if stamped := c.logs(pod, "timestamps=true&tailLines=1"); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\S+Z something new\n$`).MatchString(stamped) {
		t.Errorf("with its time it is %q", stamped)
	}
	c.del(c.apps("deployments/op"))
	if !lines.Scan() || lines.Text() != "told to stop" || lines.Scan() {
		t.Errorf("the last line is %q, %v", lines.Text(), lines.Err())
	}
}

func deletedPodEndsItsProcess(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), operator("op", func(container object) {
		container["args"] = []string{"--health-probe-bind-address=:8081", "--deaf"}
	}))
	logs := filepath.Join(c.cluster.StateDir, "pods", fmt.Sprint(c.awaitPod("op", isReady).at("metadata.uid")))
	if _, err := os.Stat(logs); err != nil {
		t.Error(err)
	}
	pid := c.processes()[0].PID
	c.del(c.apps("deployments/op"))
	c.await(c.core("pods?labelSelector=app%3Dop"), isEmpty)
	if processLives(pid) {
		t.Errorf("the pod is gone, and process %d still runs", pid)
	}
	if list := c.processes(); len(list) > 0 {
		t.Errorf("the cluster still tells of %+v", list)
	}
	if _, err := os.Stat(logs); !os.IsNotExist(err) {
		t.Errorf("the pod's logs are left: %v", err)
	}
}

func otherContainersAreSimulated(t *testing.T, c *hosted) {
	d := operator("op", nil)
	spec := d.at("spec.template.spec").(object)
	spec["containers"] = append(spec["containers"].([]object), object{"name": "proxy", "image": "proxy:v1"})
	spec["initContainers"] = []object{{"name": "init", "image": "init:v1"}}
	c.post(c.apps("deployments"), d)
	pod := c.awaitPod("op", isReady)
	if pod.container(1)["ready"] != true || pod.container(1)["name"] != "proxy" || len(c.processes()) != 1 {
		t.Errorf("containers = %v", pod.at("status.containerStatuses"))
	}
	if log := c.logs(pod, "container=proxy"); !strings.Contains(log, "is simulated") {
		t.Errorf("the log of the other container: %s", log)
	}
}

func missingConfigIsShown(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), operator("op", func(container object) {
		container["env"] = []object{{"name": "WORD", "valueFrom": object{"secretKeyRef": object{"name": "later", "key": "word"}}}}
	}))
	pod := c.awaitPod("op", func(p object) bool { return p.container(0).at("state.waiting.reason") == "CreateContainerConfigError" })
	if message := fmt.Sprint(pod.container(0).at("state.waiting.message")); !strings.Contains(message, `secrets "later" not found`) {
		t.Errorf("it says %s", message)
	}
	c.post(c.core("secrets"), object{"metadata": object{"name": "later"}, "stringData": object{"word": "sesame"}})
	c.awaitPod("op", isReady)
}

func leaderElectionIsLeftOut(t *testing.T, c *hosted) {
	elects := func(container object) {
		container["args"] = []string{"--health-probe-bind-address=:8081", "--leader-elect"}
	}
	c.post(c.apps("deployments"), operator("op", elects))
	pod := c.awaitPod("op", isReady)
	if log := c.logs(pod, ""); strings.Contains(log, "--leader-elect") || pod.container(0)["restartCount"] != 0.0 {
		t.Errorf("it was started so:\n%s", log)
	}
	c.awaitEvent(pod, "LeaderElectionOff")

	// A replica is ready, as a follower is, and takes over.
	c.do(http.MethodPatch, c.apps("deployments")+"/op", object{"spec": object{"replicas": 2}})
	c.await(c.apps("deployments")+"/op", is("status.readyReplicas", 2.0))
	leads := func() (running string, standing int) {
		for _, p := range c.processes() {
			switch p.State {
			case "running":
				running = p.Pod
			case "standby":
				standing++
			}
		}
		return running, standing
	}
	first := fmt.Sprint(pod.at("metadata.name"))
	if running, standing := leads(); running != first || standing != 1 {
		t.Errorf("%s runs, and %d stand by", running, standing)
	}
	c.del(c.core("pods") + "/" + first)
	c.await(c.apps("deployments")+"/op", func(object) bool {
		running, standing := leads()
		return running != "" && running != first && standing == 1
	})
}

func otherImagesAreSimulated(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), deployment("web", 1))
	pod := c.awaitPod("web", isReady)
	if pod.at("metadata.annotations") != nil || !strings.Contains(c.logs(pod, ""), "is simulated") || len(c.processes()) != 0 {
		t.Errorf("pod = %v", pod)
	}
}

func podIsTakenOver(t *testing.T, c *hosted) {
	image := "registry.example.com/team/late:v1"
	c.post(c.apps("deployments"), operator("op", func(container object) { container["image"] = image }))
	pod := c.awaitPod("op", isReady)
	if !strings.Contains(c.logs(pod, ""), "is simulated") {
		t.Fatal("it is not simulated")
	}
	if err := c.control().SetProgram(t.Context(), playing(t, image)); err != nil {
		t.Fatal(err)
	}
	now := c.awaitPod("op", func(p object) bool { return isReady(p) && len(c.processes()) == 1 && c.processes()[0].Ready })
	if now.at("metadata.uid") != pod.at("metadata.uid") || now.at("status.podIP") != pod.at("status.podIP") {
		t.Errorf("it is another pod: %v", now.at("status"))
	}
	if got := c.ask(now, "/api?path=/version"); !strings.HasPrefix(got, "200") {
		t.Errorf("the API server answers %s", got)
	}
}

func problemIsShown(t *testing.T, c *hosted) {
	image := "registry.example.com/team/broken:v1"
	if err := c.control().SetProgram(t.Context(), state.Program{Image: image, Problem: "it was never built"}); err != nil {
		t.Fatal(err)
	}
	c.post(c.apps("deployments"), operator("op", func(container object) { container["image"] = image }))
	pod := c.awaitPod("op", func(p object) bool { return p.container(0).at("state.waiting.reason") == "ImagePullBackOff" })
	if pod.container(0).at("state.waiting.message") != "it was never built" || pod.at("status.phase") != "Pending" || isReady(pod) {
		t.Errorf("status = %v", pod.at("status"))
	}
	if log := c.logs(pod, ""); !strings.Contains(log, "has not run yet") {
		t.Errorf("its log: %s", log)
	}
	if err := c.control().SetProgram(t.Context(), playing(t, image)); err != nil {
		t.Fatal(err)
	}
	c.awaitPod("op", isReady)
}

func markedPodIsNotSimulated(_ *testing.T, c *hosted) {
	d := deployment("web", 1)
	d.at("spec.template.metadata").(object)["annotations"] = object{"mysdk.dev/process": "true"}
	c.post(c.apps("deployments"), d)
	c.awaitPod("web", func(p object) bool { return p.container(0).at("state.waiting.reason") == "ImagePullBackOff" })
}

func changedProgramStartsAnew(t *testing.T, c *hosted) {
	image := "registry.example.com/team/changing:v1"
	p := playing(t, image)
	if err := c.control().SetProgram(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	c.post(c.apps("deployments"), operator("op", func(container object) { container["image"] = image }))
	c.awaitPod("op", isReady)
	p.ID = "sha256:two"
	if err := c.control().SetProgram(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	c.awaitPod("op", func(p object) bool { return isReady(p) && p.container(0)["imageID"] == "sha256:two" })
	// What is removed goes on, as an image that is removed from a node would.
	if err := c.control().RemoveProgram(t.Context(), image, ""); err != nil {
		t.Fatal(err)
	}
	pod := c.awaitPod("op", isReady)
	c.ask(pod, "/exit?code=1")
	pod = c.awaitPod("op", func(p object) bool { return p.container(0).at("state.waiting.reason") == "ImagePullBackOff" })
	if last := pod.container(0).at("lastState.terminated.exitCode"); last != 1.0 {
		t.Errorf("it ended with %v", last)
	}
}

func processOfAJobCompletes(t *testing.T, c *hosted) {
	path := "/apis/batch/v1/namespaces/" + c.namespace + "/jobs"
	template := operator("x", func(container object) { delete(container, "readinessProbe") }).at("spec.template").(object)
	template["spec"].(object)["restartPolicy"] = "Never"
	c.post(path, object{"metadata": object{"name": "once"}, "spec": object{"backoffLimit": 0, "template": template}})
	pod := c.awaitPod("x", isReady)
	deadline := time.Now().Add(testTimeout)
	for !strings.Contains(c.logs(pod, ""), "serving at") && time.Now().Before(deadline) {
		time.Sleep(pollInterval)
	}
	c.ask(pod, "/exit?code=0")
	c.await(path+"/once", is("status.succeeded", 1.0))
	if pod = c.pods("x")[0]; pod.at("status.phase") != "Succeeded" || pod.container(0).at("state.terminated.reason") != "Completed" {
		t.Errorf("status = %v", pod.at("status"))
	}
	if log := c.logs(pod, ""); !strings.Contains(log, "last words") {
		t.Errorf("its log:\n%s", log)
	}
}
