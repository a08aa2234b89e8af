package migrate

import (
	"strings"
	"testing"
)

// TestPod holds what becomes of what the old Deployment said of the operator's
// pod, beside its environment, arguments, resources and volumes.
func TestPod(t *testing.T) {
	const pod, box = "      serviceAccountName: memcached-operator\n", "          command:\n          - memcached-operator\n"
	tests := map[string]struct {
		pod, box string // lines that are added to the pod and to the container
		want     []string
		notes    []string
	}{
		"where it runs": {
			pod:  "      nodeSelector: {disk: fast}\n      tolerations:\n      - key: infra\n        operator: Exists\n      affinity:\n        nodeAffinity: {}\n      hostNetwork: true\n      priorityClassName: high\n",
			want: []string{"      nodeSelector: {disk: fast}\n", "      - key: infra\n", "        nodeAffinity: {}\n", "      hostNetwork: true\n", "      priorityClassName: high\n"},
		},
		"what runs before it": {
			pod:  "      initContainers:\n      - name: wait\n        image: busybox\n      imagePullSecrets:\n      - name: pull\n",
			want: []string{"      - name: wait\n        image: busybox\n", "      imagePullSecrets:\n      - name: pull\n"},
		},
		"a hook": {
			box:  "          lifecycle:\n            preStop:\n              exec: {command: [sleep, \"5\"]}\n",
			want: []string{"        lifecycle:\n          preStop:\n            exec: {command: [sleep, \"5\"]}\n"},
		},
		"ports": {
			box:  "          ports:\n          - containerPort: 60000\n            name: metrics\n          - containerPort: 9090\n            name: api\n",
			want: []string{"name: health\n", "        - containerPort: 9090\n          name: api\n", "!60000"},
		},
		"a port that is taken": {
			box:   "          ports:\n          - name: health\n            containerPort: 9090\n",
			want:  []string{"containerPort: 8081", "!9090"},
			notes: []string{"ports[health].containerPort to 9090, where the new scaffold has 8081"},
		},
		"probes": {
			box:   "          livenessProbe:\n            exec: {command: [\"true\"]}\n          startupProbe:\n            exec: {command: [\"false\"]}\n",
			want:  []string{"        startupProbe:\n          exec: {command: [\"false\"]}\n", "path: /healthz", `!command: ["true"]`},
			notes: []string{"livenessProbe"},
		},
		"a probe of the scaffold's": {
			box:  "          readinessProbe:\n            exec:\n              command: [stat, /tmp/operator-sdk-ready]\n            periodSeconds: 10\n          imagePullPolicy: Always\n",
			want: []string{"path: /readyz", "!operator-sdk-ready", "!imagePullPolicy"},
		},
		"how the image comes": {
			box: "          imagePullPolicy: IfNotPresent\n", want: []string{"        imagePullPolicy: IfNotPresent\n"},
		},
		"what it may": {
			pod:   "      securityContext:\n        fsGroup: 1001\n        runAsNonRoot: false\n",
			want:  []string{"        fsGroup: 1001\n", "        runAsNonRoot: true\n"},
			notes: []string{"securityContext.runAsNonRoot to false"},
		},
		"seconds to end": {
			pod: "      terminationGracePeriodSeconds: 60\n", want: []string{"terminationGracePeriodSeconds: 40"}, notes: []string{"terminationGracePeriodSeconds to 60"},
		},
		"the same seconds": {pod: "      terminationGracePeriodSeconds: 40\n", want: []string{"terminationGracePeriodSeconds: 40"}},
		"nothing at all":   {pod: "      nodeSelector:\n", want: []string{"!nodeSelector"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := memcached(t)
			swap(files, "deploy/operator.yaml", pod, pod+test.pod)
			swap(files, "deploy/operator.yaml", box, box+test.box)
			expectNotes(t, files, managerPath, test.want, test.notes)
		})
	}
}

// expectNotes looks for texts in a file of the result, and for one note of the
// old Deployment with all texts of notes; without them it is to have none.
func expectNotes(t *testing.T, files map[string]string, name string, want, notes []string) {
	t.Helper()
	swap(files, "deploy/operator.yaml", "          - --delay=1s\n", "") // for a flag that is left to its owner
	p := mustPlan(t, files)
	expect(t, content(p.Result), map[string][]string{name: want})
	e, _ := p.entry("deploy/operator.yaml")
	if e.Status == Dropped {
		e.Notes = nil
	}
	if len(notes) == 0 && len(e.Notes) > 0 || len(notes) > 0 && len(e.Notes) != 1 {
		t.Fatalf("notes: %v", e.Notes)
	}
	for _, part := range notes {
		if !strings.Contains(e.Notes[0].Text, part) {
			t.Errorf("no %q in %q", part, e.Notes[0].Text)
		}
	}
}

// TestPodMetadata holds what becomes of annotations and labels, and of how the
// Deployment brings new pods.
func TestPodMetadata(t *testing.T) {
	files := memcached(t)
	swap(files, "deploy/operator.yaml", "metadata:\n  name: memcached-operator\n", "metadata:\n  name: memcached-operator\n  annotations: {owner: team}\n")
	swap(files, "deploy/operator.yaml", "      labels:\n", "      annotations:\n        prometheus.io/scrape: \"true\"\n      labels:\n        tier: infra\n")
	swap(files, "deploy/operator.yaml", "  replicas: 1\n", "  replicas: 1\n  revisionHistoryLimit: 3\n  strategy:\n    type: Recreate\n")
	expectNotes(t, files, managerPath, []string{
		"  annotations: {owner: team}\n", "        prometheus.io/scrape: \"true\"\n", "        tier: infra\n", "  revisionHistoryLimit: 3\n", "  strategy:\n    type: Recreate\n", "!name: memcached-operator\n    spec",
	}, nil)
}

// TestServiceAccount holds what the operator's account takes over.
func TestServiceAccount(t *testing.T) {
	files := memcached(t)
	files["deploy/service_account.yaml"] = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: memcached-operator\n  namespace: old\n  annotations:\n    eks.amazonaws.com/role-arn: arn:1\n  labels: {team: a}\nimagePullSecrets:\n- name: pull\n"
	expectNotes(t, files, "config/rbac/service_account.yaml", []string{
		"name: controller-manager\n", "namespace: system\n", "    eks.amazonaws.com/role-arn: arn:1\n", "    team: a\n", "imagePullSecrets:\n- name: pull\n",
	}, nil)
}

// TestAliases holds that what a name stands for is carried over, and not the
// name.
func TestAliases(t *testing.T) {
	files := memcached(t)
	swap(files, "deploy/operator.yaml", "  name: memcached-operator\n", "  name: &name memcached-operator\n")
	swap(files, "deploy/operator.yaml", `value: "memcached-operator"`, "value: *name")
	swap(files, "deploy/operator.yaml", "          resources:\n            limits:\n              memory: 200Mi\n", "          resources: &small\n            <<: &more {requests: {cpu: 3m}}\n            limits:\n              memory: 200Mi\n")
	files["deploy/operator.yaml"] += "      initContainers:\n      - name: first\n        image: busybox\n        resources: *small\n"
	expectNotes(t, files, managerPath, []string{"value: memcached-operator\n", "memory: 200Mi", "cpu: 3m", "!*", "!&", "!<<"}, nil)

	swap(files, "deploy/operator.yaml", "resources: *small", "resources: &loop {a: *loop}")
	e, _ := mustPlan(t, files).entry("deploy/operator.yaml")
	if e.Status != Needs || len(e.Notes) != 1 || !strings.Contains(e.Notes[0].Text, "anchor") {
		t.Errorf("an anchor that contains itself: %+v", e)
	}
}

// TestSamplesAmongOthers holds that examples are found wherever they stand in a
// file.
func TestSamplesAmongOthers(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\n"
	const name = "deploy/crds/cache.example.com_v1alpha1_memcached_cr.yaml"
	for label, join := range map[string]func(cr string) string{
		"behind":    func(cr string) string { return secret + "---\n" + cr },
		"in front":  func(cr string) string { return cr + "---\n" + secret },
		"all alone": func(cr string) string { return cr + "---\n" + strings.ReplaceAll(cr, "example-memcached", "second") },
	} {
		t.Run(label, func(t *testing.T) {
			files := memcached(t)
			files[name] = join(files[name])
			got := content(mustPlan(t, files).Result)
			want := map[string][]string{
				"config/samples/cache_v1alpha1_memcached.yaml":              {"name: example-memcached", "!kind: Secret"},
				"config/extra/cache.example.com_v1alpha1_memcached_cr.yaml": {"kind: Secret", "!Memcached"},
			}
			if label == "all alone" {
				want["config/samples/cache_v1alpha1_memcached.yaml"] = []string{"name: example-memcached", "name: second"}
				delete(want, "config/extra/cache.example.com_v1alpha1_memcached_cr.yaml")
			}
			expect(t, got, want)
		})
	}
}

// TestSameNames holds that files of one name in several directories have names
// of their own.
func TestSameNames(t *testing.T) {
	files := memcached(t)
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {of: X}\n"
	for _, dir := range []string{"prod", "staging", "test"} {
		files["deploy/"+dir+"/settings.yaml"] = strings.ReplaceAll(text, "X", dir)
	}
	expect(t, content(mustPlan(t, files).Result), map[string][]string{
		"config/extra/settings.yaml":         {"of: prod"},
		"config/extra/staging_settings.yaml": {"of: staging"},
		"config/extra/test_settings.yaml":    {"of: test"},
		"config/extra/kustomization.yaml":    {"- settings.yaml\n", "- staging_settings.yaml\n", "- test_settings.yaml\n"},
	})
}
