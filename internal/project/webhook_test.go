package project_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/project"
)

// webhookStub is a stub that adds a webhook to a resource.
type webhookStub struct {
	stub
	fields map[string]any // what it was told of the resource
}

func (s *webhookStub) InjectResourceExtras(fields map[string]any) { s.fields = fields }

func (s *webhookStub) InjectResource(res *resource.Resource) error {
	res.Path, res.Webhooks = "example.com/op/api/v1", &resource.Webhooks{WebhookVersion: "v1", Conversion: true}
	s.resource = res
	return s.inject
}

const withHub = `domain: example.com
layout:
- go.kubebuilder.io/v4
projectName: op
repo: example.com/op
resources:
- api:
    crdVersion: v1
    namespaced: true
  controllers:
  - name: memcached
  domain: example.com
  group: cache
  kind: Memcached
  module: ours # kept
  path: example.com/op/api/v1
  version: v1
  webhooks:
    conversion: true
    spoke: # kept too
    - v1alpha1
    webhookVersion: v1
version: "3"
`

func TestCreateWebhook(t *testing.T) {
	dir := fill(t, map[string]string{"PROJECT": withHub})
	sub := &webhookStub{stub: stub{resourceExtras: map[string]any{
		"webhooks": map[string]any{"spoke": []any{"v1alpha1", "v2"}, "defaultingPath": "/fill-in"},
	}}}
	set, _, err := project.Create(sub, project.APIOptions{Dir: dir, Group: "cache", Version: "v1", Kind: "Memcached"})
	if err != nil {
		t.Fatal(err)
	}
	webhooks, _ := sub.fields["webhooks"].(map[string]any)
	if d := cmp.Diff([]any{"v1alpha1"}, webhooks["spoke"]); d != "" || sub.fields["module"] != "ours" || sub.fields["domain"] != "example.com" {
		t.Errorf("the plugin was told %v", sub.fields)
	}
	f, _ := set.Get("PROJECT")
	want := `domain: example.com
layout:
- go.kubebuilder.io/v4
projectName: op
repo: example.com/op
resources:
- api:
    crdVersion: v1
    namespaced: true
  controllers:
  - name: memcached
  domain: example.com
  group: cache
  kind: Memcached
  module: ours # kept
  path: example.com/op/api/v1
  version: v1
  webhooks:
    conversion: true
    defaultingPath: /fill-in
    spoke: # kept too
    - v1alpha1
    - v2
    webhookVersion: v1
version: "3"
`
	if d := cmp.Diff(want, string(f.Data)); d != "" {
		t.Errorf("PROJECT (-want +got):\n%s", d)
	}
}

// A resource that PROJECT does not have is one of another project, and a
// domain that only flags know is no hindrance to finding one.
func TestCreateWebhookTellsOfTheResource(t *testing.T) {
	for name, c := range map[string]struct {
		kind, domain string
		found        bool
	}{
		"there":          {kind: "Memcached", found: true},
		"another domain": {kind: "Memcached", domain: "io", found: true},
		"not there":      {kind: "Redis"},
	} {
		t.Run(name, func(t *testing.T) {
			sub := &webhookStub{fields: map[string]any{"never": "told"}}
			o := project.APIOptions{Dir: fill(t, map[string]string{"PROJECT": withHub}), Group: "cache", Version: "v1", Kind: c.kind, Domain: c.domain}
			if _, _, err := project.Create(sub, o); err != nil {
				t.Fatal(err)
			}
			if (sub.fields != nil) != c.found {
				t.Errorf("the plugin was told %v", sub.fields)
			}
		})
	}
}

// A resource's controllers are added to, and a plain "controller: true"
// becomes the first of them.
func TestControllersAreAdded(t *testing.T) {
	const before = plain + "resources:\n- api:\n    crdVersion: v1\n    namespaced: true\n  controller: true\n  domain: example.com\n  group: cache\n  kind: Memcached\n  path: example.com/op/api/v1\n  version: v1\n"
	want := plain[:len(plain)-len("version: \"3\"\n")] + `resources:
- api:
    crdVersion: v1
    namespaced: true
  controllers:
  - name: memcached
  - name: backup
  domain: example.com
  group: cache
  kind: Memcached
  path: example.com/op/api/v1
  version: v1
version: "3"
`
	dir := fill(t, map[string]string{"PROJECT": plain[:len(plain)-len("version: \"3\"\n")] + before[len(plain):] + "version: \"3\"\n"})
	sub := &webhookStub{stub: stub{resourceExtras: map[string]any{"controllers": []any{map[string]any{"name": "backup"}}}}}
	set, _, err := project.Create(&apiPath{sub.stub}, project.APIOptions{Dir: dir, Group: "cache", Version: "v1", Kind: "Memcached"})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := set.Get("PROJECT")
	if d := cmp.Diff(want, string(f.Data)); d != "" {
		t.Errorf("PROJECT (-want +got):\n%s", d)
	}
}

// apiPath is an apiStub that says where the types are.
type apiPath struct{ stub }

func (s *apiPath) InjectResource(res *resource.Resource) error {
	res.Path = "example.com/op/api/v1"
	s.resource = res
	return nil
}
