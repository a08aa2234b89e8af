package upgrade

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
)

const (
	ourLabel     = "app.kubernetes.io/name: shop\n"
	selectorText = "    matchLabels:\n      control-plane: controller-manager\n      " + ourLabel
	podsText     = "      labels:\n        control-plane: controller-manager\n        " + ourLabel
)

// oldLabels is a project of another tool as it was before pods had a label with
// the project's name.
func oldLabels(t *testing.T) *shop {
	t.Helper()
	s, _ := otherTool(t, foreignProject)
	s.edit("config/manager/manager.yaml", selectorText, strings.Replace(selectorText, "      "+ourLabel, "", 1))
	s.edit("config/manager/manager.yaml", podsText, strings.Replace(podsText, "        "+ourLabel, "", 1))
	s.edit("config/default/metrics_service.yaml", "    control-plane: controller-manager\n    "+ourLabel+"    app.kubernetes.io/managed-by", "    control-plane: controller-manager\n    app.kubernetes.io/managed-by")
	s.edit("config/default/metrics_service.yaml", "    control-plane: controller-manager\n    "+ourLabel, "    control-plane: controller-manager\n")
	s.edit("config/prometheus/monitor.yaml", selectorText, strings.Replace(selectorText, "      "+ourLabel, "", 1))
	return s
}

// What is deployed can be deployed again: its selectors stay, and what selects
// the pods of a kept manager.yaml asks for no label that they lack.
func TestUpgrade_KeepsSelectors(t *testing.T) {
	for name, edited := range map[string]bool{"manager.yaml becomes ours": false, "manager.yaml stays": true} {
		t.Run(name, func(t *testing.T) {
			s := oldLabels(t)
			s.opts.peers = peerTable(t, s.peer())
			if edited {
				s.edit("config/manager/manager.yaml", "cpu: 250m", "cpu: 333m")
			}
			was := buildDefault(t, s, fileset.Set{})
			p, err := s.opts.New()
			if err != nil {
				t.Fatal(err)
			}
			if got := p.actions()["config/manager/manager.yaml"]; (got == Kept) != edited {
				t.Errorf("manager.yaml is %s", got)
			}
			if p.actions()["config/default/metrics_service.yaml"] != Updated {
				t.Errorf("the metrics Service is not updated: %v", p.Files)
			}
			if err := s.opts.Verify(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			is := buildDefault(t, s, p.Set)
			const deployment, service = "Deployment shop-controller-manager", "Service shop-controller-manager-metrics-service"
			selector, ok, _ := unstructured.NestedMap(was[deployment], "spec", "selector")
			now, _, _ := unstructured.NestedMap(is[deployment], "spec", "selector")
			if d := cmp.Diff(selector, now); d != "" || !ok {
				t.Errorf("selector of the Deployment, there: %t (-was +is):\n%s", ok, d)
			}
			if !selects(is[service], is[deployment]) {
				t.Errorf("the metrics Service selects %v, and the pods have %v", is[service].labels("spec", "selector"), is[deployment].labels("spec", "template", "metadata", "labels"))
			}
			s.commit(p.Set)
			monitor := objectsIn([]byte(s.read("config/prometheus/monitor.yaml")))[0].labels("spec", "selector", "matchLabels")
			for key, value := range monitor {
				if is[service].labels("metadata", "labels")[key] != value {
					t.Errorf("the ServiceMonitor selects %v, and the Service has %v", monitor, is[service].labels("metadata", "labels"))
				}
			}
			if p := s.upgrade(); !p.Empty() {
				t.Errorf("the second time: %v", p.Files)
			}
		})
	}
}

func buildDefault(t *testing.T, s *shop, set fileset.Set) map[string]object {
	t.Helper()
	s.write("config/crd/bases/cache.example.com_memcacheds.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: memcacheds.cache.example.com\n")
	s.write("config/rbac/role.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: manager-role\n")
	out, err := s.opts.build(t.Context(), set, deployed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A role that another tool keeps in a file of another name is not written a
// second time, and what is new is named.
func TestUpgrade_SameRoleInAnotherFile(t *testing.T) {
	s, _ := otherTool(t, foreignProject)
	s.opts.peers = peerTable(t, s.peer())
	const theirs = "config/rbac/auth_proxy_client_clusterrole.yaml"
	s.write(theirs, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: metrics-reader\n")
	s.edit("config/rbac/kustomization.yaml", "resources:\n", "resources:\n- auth_proxy_client_clusterrole.yaml\n")
	buildDefault(t, s, fileset.Set{})
	p := s.upgrade()
	if _, there := s.files()["config/rbac/metrics_reader_role.yaml"]; there {
		t.Error("the role is written twice")
	}
	if i := slices.IndexFunc(p.Files, func(f File) bool { return f.Path == theirs }); i < 0 || p.Files[i].Action != Kept || !strings.Contains(p.Files[i].Detail, "metrics_reader_role.yaml") {
		t.Errorf("the plan does not name it: %v", p.Files)
	}
	buildDefault(t, s, fileset.Set{})
}

// What is off in the project is not turned on, and an image keeps its name.
func TestForeign_TurnsNothingOn(t *testing.T) {
	off := []byte("resources:\n- ../crd\n#- ../certmanager\n- a.yaml\n")
	on := []byte("resources:\n- ../crd\n- ../certmanager\n- b.yaml\ncomponents:\n- ../extra\n")
	if d := cmp.Diff([]string{"../certmanager", "../extra"}, turnsOn(off, on)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := turnsOn(on, off); len(got) > 0 {
		t.Errorf("turned on: %v", got)
	}
	mine := []byte("images:\n- name: controller\n  newName: quay.io/shop\n")
	if holds([]byte("images:\n- name: controller\n  newName: controller\n"), mine) {
		t.Error("an image loses its name")
	}
}

// A plan that would break what is deployed is refused, with the reason.
func TestVerify(t *testing.T) {
	const manager = "config/manager/manager.yaml"
	tests := map[string]struct {
		name, old, text string
		want            string
	}{
		"no build":     {"config/rbac/kustomization.yaml", "resources:\n", "resources:\n- missing.yaml\n", "would not build: build config/default"},
		"selector":     {manager, selectorText, selectorText + "      more: label\n", "Deployment shop-controller-manager would get another selector"},
		"lost pods":    {"config/default/metrics_service.yaml", "  selector:\n", "  selector:\n    more: label\n", "Service shop-controller-manager-metrics-service would no longer select the pods of Deployment shop-controller-manager"},
		"other rights": {"config/rbac/leader_election_role.yaml", "  - create\n", "  - create\n  - delete\n", ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			buildDefault(t, s, fileset.Set{})
			text := s.read(c.name)
			p := &Plan{}
			if err := p.Set.Put(c.name, fileset.File{Data: []byte(strings.Replace(text, c.old, c.text, 1)), Mode: 0o644}); err != nil {
				t.Fatal(err)
			}
			err := s.opts.Verify(t.Context(), p)
			if c.want == "" {
				if d := cmp.Diff([]string{"changes the rights of Role shop-leader-election-role"}, p.Objects); err != nil || d != "" {
					t.Errorf("%v (-want +got):\n%s", err, d)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || clierr.HintOf(err) == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}
