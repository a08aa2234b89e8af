package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cluster/state"
)

// simulations are about pods that no program serves, and other things that are
// there in name only.
func simulations() map[string]func(*testing.T, *hosted) {
	return map[string]func(*testing.T, *hosted){
		"missing-config": podWaitsForItsConfig,
		"missing-volume": podWaitsForItsVolume,
		"states":         podLooksAsAsked,
		"never":          podThatIsNotRestartedCompletes,
		"addresses":      addressesAreGiven,
		"metrics":        usageScalesDeployments,
		"gates":          readinessGatesAreLeftToOthers,
		"taints":         taintsEvict,
	}
}

// simulated is a Deployment of one pod whose container has further fields.
func simulated(name string, further object) object {
	d := deployment(name, 1)
	container := d.at("spec.template.spec").(object)["containers"].([]object)[0]
	for key, value := range further {
		container[key] = value
	}
	return d
}

func waitsFor(reason, message string) func(object) bool {
	return func(p object) bool {
		return p.container(0).at("state.waiting.reason") == reason && p.at("status.phase") == "Pending" &&
			strings.Contains(fmt.Sprint(p.container(0).at("state.waiting.message")), message)
	}
}

func podWaitsForItsConfig(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), simulated("web", object{"env": []object{
		{"name": "WORD", "valueFrom": object{"secretKeyRef": object{"name": "later", "key": "word"}}},
		{"name": "NONE", "valueFrom": object{"configMapKeyRef": object{"name": "none", "key": "k", "optional": true}}},
	}}))
	pod := c.awaitPod("web", waitsFor("CreateContainerConfigError", `secrets "later" not found`))
	c.awaitEvent(pod, "Failed")
	c.post(c.core("secrets"), object{"metadata": object{"name": "later"}, "stringData": object{"word": "sesame"}})
	pod = c.awaitPod("web", isReady)
	if pod.at("metadata.annotations") != nil {
		t.Errorf("annotations = %v", pod.at("metadata.annotations"))
	}
}

func podWaitsForItsVolume(_ *testing.T, c *hosted) {
	d := deployment("web", 1)
	d.at("spec.template.spec").(object)["volumes"] = []object{{"name": "v", "configMap": object{"name": "later"}}}
	c.post(c.apps("deployments"), d)
	pod := c.awaitPod("web", waitsFor("ContainerCreating", `configmaps "later" not found`))
	c.awaitEvent(pod, "FailedMount")
	c.post(c.core("configmaps"), object{"metadata": object{"name": "later"}, "data": object{"k": "v"}})
	c.awaitPod("web", isReady)
}

func podLooksAsAsked(t *testing.T, c *hosted) {
	c.post(c.apps("deployments"), deployment("web", 1))
	name := c.awaitPod("web", isReady).at("metadata.name")
	path := c.core(fmt.Sprint("pods/", name))
	set := func(what any) {
		c.do(http.MethodPatch, path, object{"metadata": object{"annotations": object{state.SimulateAnnotation: what}}})
	}
	for _, tc := range []struct {
		what, phase, reason string
	}{
		{state.SimulatePullError, "Pending", "ImagePullBackOff"},
		{state.SimulateCrash, "Running", "CrashLoopBackOff"},
		{state.SimulateNotReady, "Running", ""},
	} {
		set(tc.what)
		c.awaitPod("web", func(p object) bool {
			reason, _ := p.container(0).at("state.waiting.reason").(string)
			return !isReady(p) && p.at("status.phase") == tc.phase && reason == tc.reason
		})
		c.await(c.apps("deployments/web"), is("status.unavailableReplicas", 1.0))
	}
	set(nil)
	pod := c.awaitPod("web", isReady)
	if pod.at("metadata.name") != name || pod.at("status.phase") != "Running" {
		t.Errorf("pod = %v", pod)
	}
	c.await(c.apps("deployments/web"), is("status.availableReplicas", 1.0))
	set("cash")
	c.awaitEvent(pod, "InvalidAnnotation")
}

func podThatIsNotRestartedCompletes(t *testing.T, c *hosted) {
	spec := podTemplate(object{})["spec"].(object)
	spec["restartPolicy"] = "Never"
	c.post(c.core("pods"), object{"metadata": object{"name": "once"}, "spec": spec})
	c.await(c.core("pods/once"), is("status.phase", "Succeeded"))
	c.post(c.core("pods"), object{"metadata": object{"name": "bad", "annotations": object{state.SimulateAnnotation: state.SimulateCrash}}, "spec": spec})
	c.await(c.core("pods/bad"), is("status.phase", "Failed"))
	if code := c.get(c.core("pods/bad")).container(0).at("state.terminated.exitCode"); code != 1.0 {
		t.Errorf("exit code %v", code)
	}
	template := podTemplate(nil)
	template["metadata"] = object{"annotations": object{state.SimulateAnnotation: state.SimulateCrash}}
	template["spec"].(object)["restartPolicy"] = "OnFailure"
	jobs := "/apis/batch/v1/namespaces/" + c.namespace + "/jobs"
	c.post(jobs, object{"metadata": object{"name": "bad"}, "spec": object{"backoffLimit": 2, "template": template}})
	c.await(jobs+"/bad", func(job object) bool { return job.condition("Failed") == "True" })
}

func addressesAreGiven(t *testing.T, c *hosted) {
	outside := func(o object) bool {
		list, _ := o.at("status.loadBalancer.ingress").([]any)
		return len(list) == 1 && strings.HasPrefix(fmt.Sprint(object(list[0].(map[string]any))["ip"]), "192.0.2.")
	}
	c.post(c.core("services"), object{"metadata": object{"name": "web"}, "spec": object{"type": "LoadBalancer", "ports": []object{{"port": 80}}}})
	c.await(c.core("services/web"), outside)
	const classes = "/apis/networking.k8s.io/v1/ingressclasses"
	c.post(classes, object{"metadata": object{"name": "own"}, "spec": object{"controller": "example.com/own"}})
	defer c.del(classes + "/own")
	ingresses := "/apis/networking.k8s.io/v1/namespaces/" + c.namespace + "/ingresses"
	for name, class := range map[string]any{"web-own": "own", "web-none": "none", "web": nil} {
		c.post(ingresses, object{"metadata": object{"name": name}, "spec": object{"ingressClassName": class, "defaultBackend": object{
			"service": object{"name": "web", "port": object{"number": 80}},
		}}})
	}
	c.await(ingresses+"/web-none", outside)
	c.await(ingresses+"/web", outside)
	if own := c.get(ingresses + "/web-own"); outside(own) {
		t.Errorf("an Ingress of a class that exists: %v", own["status"])
	}
}

// readinessGatesAreLeftToOthers: a pod is Ready while all of its gates are open, and
// looking otherwise in between closes none.
func readinessGatesAreLeftToOthers(_ *testing.T, c *hosted) {
	template := podTemplate(nil)
	template["metadata"] = object{"name": "gated"}
	template["spec"].(object)["readinessGates"] = []object{{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}}
	path := c.core("pods/gated")
	set := func(gate, status string) {
		c.do(http.MethodPatch, path+"/status?force=true&fieldManager="+gate, object{
			"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "gated"},
			"status": object{"conditions": []object{{"type": gate, "status": status}}},
		})
	}
	simulate := func(what any) {
		c.do(http.MethodPatch, path, object{"metadata": object{"annotations": object{state.SimulateAnnotation: what}}})
	}
	c.post(c.core("pods"), template)
	pod := c.await(path, is("status.phase", "Running"))
	if isReady(pod) || pod.condition("example.com/a") != nil || pod.condition("ContainersReady") != "True" {
		c.tb.Errorf("with its gates closed: %v", pod["status"])
	}
	set("example.com/a", "True")
	set("example.com/b", "False")
	c.await(path, func(p object) bool { return !isReady(p) })
	set("example.com/b", "True")
	c.await(path, isReady)
	simulate(state.SimulateCrash)
	c.await(path, func(p object) bool { return p.condition("ContainersReady") == "False" && !isReady(p) })
	simulate(nil)
	c.await(path, isReady)
	set("example.com/a", "False")
	c.await(path, func(p object) bool { return !isReady(p) })
}

// taintsEvict has a node of its own: others keep their pods.
func taintsEvict(_ *testing.T, c *hosted) {
	const nodes = "/api/v1/nodes"
	c.post(nodes, object{
		"metadata": object{"name": "tainted", "annotations": object{"kwok.x-k8s.io/node": "fake"}},
		"spec":     object{"taints": []object{{"key": "example.com/drained", "effect": "NoExecute"}}},
	})
	defer c.del(nodes + "/tainted")
	template := podTemplate(nil)
	template["metadata"] = object{"name": "evicted"}
	template["spec"].(object)["nodeName"] = "tainted"
	c.post(c.core("pods"), template)
	c.await(c.core("pods/evicted"), nil)
}

// usageScalesDeployments has an autoscaler follow what pods are said to use.
func usageScalesDeployments(t *testing.T, c *hosted) {
	d := simulated("web", object{"resources": object{"requests": object{"cpu": "100m"}}})
	c.post(c.apps("deployments"), d)
	pod := c.awaitPod("web", isReady)
	metrics := fmt.Sprintf("/apis/metrics.k8s.io/v1beta1/namespaces/%s/pods/%v", c.namespace, pod.at("metadata.name"))
	used := func(o object) string {
		list, ok := o["containers"].([]any)
		if !ok || len(list) != 1 {
			return ""
		}
		return fmt.Sprint(object(list[0].(map[string]any)).at("usage.cpu"))
	}
	if idle := c.get(metrics); used(idle) != "1m" {
		t.Errorf("metrics of an idle pod: %v", idle)
	}
	c.do(http.MethodPatch, c.core(fmt.Sprint("pods/", pod.at("metadata.name"))), object{"metadata": object{"annotations": object{state.CPUAnnotation: "200m"}}})
	if busy := c.get(metrics); used(busy) != "200m" {
		t.Errorf("metrics of a busy pod: %v", busy)
	}
	c.post("/apis/autoscaling/v2/namespaces/"+c.namespace+"/horizontalpodautoscalers", object{"metadata": object{"name": "web"}, "spec": object{
		"scaleTargetRef": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": 1, "maxReplicas": 2,
		"metrics": []object{{"type": "Resource", "resource": object{"name": "cpu", "target": object{"type": "Utilization", "averageUtilization": 50}}}},
	}})
	c.await(c.apps("deployments/web"), is("status.readyReplicas", 2.0))
}
