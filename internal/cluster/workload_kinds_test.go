package cluster

import (
	"fmt"
	"testing"
)

// workloadKinds has a test for every kind that makes pods, with pods that programs
// of this machine serve, and with simulated ones: it makes one, and waits in what
// it returns for it to come to where it is to come.
func workloadKinds() map[string]func(*testing.T, *hosted) func(*testing.T) {
	tests := map[string]func(*testing.T, *hosted) func(*testing.T){}
	selector := object{"matchLabels": object{"app": "x"}}
	for kind, tc := range map[string]struct {
		path string
		ends bool // its pods end by themselves
		spec func(template object) object
		want map[string]any // in the status
	}{
		"deployment": {path: "/apis/apps/v1/namespaces/%s/deployments", spec: func(template object) object {
			return object{"replicas": 2, "selector": selector, "template": template}
		}, want: map[string]any{"readyReplicas": 2.0, "availableReplicas": 2.0, "updatedReplicas": 2.0}},
		"statefulset": {path: "/apis/apps/v1/namespaces/%s/statefulsets", spec: func(template object) object {
			return object{"replicas": 2, "serviceName": "x", "selector": selector, "template": template}
		}, want: map[string]any{"readyReplicas": 2.0, "availableReplicas": 2.0, "updatedReplicas": 2.0}},
		"daemonset": {path: "/apis/apps/v1/namespaces/%s/daemonsets", spec: func(template object) object {
			return object{"selector": selector, "template": template}
		}, want: map[string]any{"desiredNumberScheduled": 1.0, "numberReady": 1.0, "numberAvailable": 1.0}},
		"job": {path: "/apis/batch/v1/namespaces/%s/jobs", ends: true, spec: func(template object) object {
			return object{"completions": 2, "template": template}
		}, want: map[string]any{"succeeded": 2.0, "active": nil}},
		// Its first job starts with the next minute.
		"cronjob": {path: "/apis/batch/v1/namespaces/%s/cronjobs", ends: true, spec: func(template object) object {
			return object{"schedule": "* * * * *", "jobTemplate": object{"spec": object{"template": template}}}
		}, want: map[string]any{"active": nil}},
	} {
		for _, served := range []bool{true, false} {
			tests[fmt.Sprintf("%s-%t", kind, served)] = func(_ *testing.T, c *hosted) func(*testing.T) {
				path := fmt.Sprintf(tc.path, c.namespace)
				c.post(path, object{"metadata": object{"name": "x"}, "spec": tc.spec(kindTemplate(served, tc.ends))})
				return func(t *testing.T) {
					c.client.tb, c.tb = t, t
					checkKind(t, c, path, tc.want, served)
				}
			}
		}
	}
	return tests
}

// kindTemplate is a template for pods that a program serves, or that are
// simulated, and that end by themselves or not.
func kindTemplate(hosted, ends bool) object {
	template := podTemplate(object{"app": "x"})
	if hosted {
		template = operator("x", func(container object) {
			if ends {
				container["args"] = []string{"--exit=0"}
			}
		}).at("spec.template").(object)
	}
	if ends {
		template["spec"].(object)["restartPolicy"] = "Never"
	}
	return template
}

func checkKind(t *testing.T, c *hosted, path string, want map[string]any, hosted bool) {
	t.Helper()
	c.await(path+"/x", func(o object) bool {
		status, _ := o["status"].(map[string]any)
		for field, value := range want {
			if status[field] != value {
				return false
			}
		}
		return o["kind"] != "CronJob" || status["lastSuccessfulTime"] != nil
	})
	pods := c.pods("x")
	for _, pod := range pods {
		if marked := pod.at("metadata.annotations") != nil; marked != hosted {
			t.Errorf("annotations = %v", pod.at("metadata.annotations"))
		}
	}
	if served := len(c.processes()) > 0; served && !hosted || len(pods) == 0 {
		t.Errorf("%d pods, served by programs: %v", len(pods), c.processes())
	}
}
