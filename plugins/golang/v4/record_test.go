package v4_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	cfgv3 "sigs.k8s.io/kubebuilder/v3/pkg/config/v3"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// What PROJECT records of a kind, kubebuilder's spelling included, is what the
// commands are run with again.
func TestRecorded(t *testing.T) {
	const head = "domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nprojectName: op\nrepo: example.com/op\nversion: \"3\"\n"
	const id = "    - domain: example.com\n      group: cache\n      kind: Memcached\n      version: v1\n"
	const both = "plugins:\n  deploy-image.go.kubebuilder.io/v1-alpha:\n    resources:\n" + id
	const ours = "plugins:\n  scaffold.mysdk.dev/v1:\n    resources:\n" + id
	type flags = map[string]string
	tests := map[string]struct {
		text       string
		controller bool
		webhooks   *resource.Webhooks
		api        flags
		runs       []flags
	}{
		"nothing": {head, true, nil, flags{"pattern": "blank", "controller": "true"}, nil},
		"as kubebuilder records it": {
			head + both + "      options:\n        containerCommand: memcached,-v\n        containerPort: \"11211\"\n        image: memcached:1.6\n        runAsUser: \"1002\"\n", true, nil,
			flags{"pattern": "deployment", "controller": "true", "image": "memcached:1.6", "image-container-command": "memcached,-v", "image-container-port": "11211", "run-as-user": "1002"}, nil,
		},
		"no user, and a port that is a number": {
			head + both + "      options:\n        containerPort: 80\n        image: nginx\n", true, nil,
			flags{"pattern": "deployment", "controller": "true", "image": "nginx", "image-container-port": "80", "run-as-user": ""}, nil,
		},
		"an image that is none, as kubebuilder once recorded": {
			head + both + "      options:\n        image: memcached:memcached:1.6\n", true, nil,
			flags{"pattern": "blank", "controller": "true"}, nil,
		},
		"another kind": {
			head + "plugins:\n  deploy-image.go.kubebuilder.io/v1-alpha:\n    resources:\n    - kind: Redis\n      options:\n        image: redis\n", true, nil,
			flags{"pattern": "blank", "controller": "true"}, nil,
		},
		"not what it should be": {head + "plugins:\n  deploy-image.go.kubebuilder.io/v1-alpha:\n    resources: many\n", false, nil, flags{"pattern": "blank", "controller": "false"}, nil},
		"types before their controller": {
			head + ours + "      options:\n        image: memcached\n      pattern: deployment\n", true, nil,
			flags{"pattern": "deployment", "controller": "false", "image": "memcached", "run-as-user": ""}, nil,
		},
		"types before a controller that was handed over": {
			head + both + "      options:\n        image: memcached:1.6\n" + strings.TrimPrefix(ours, "plugins:\n") + "      options:\n        image: memcached\n        containerPort: 80\n      pattern: deployment\n", true, nil,
			flags{"pattern": "deployment", "controller": "true", "image": "memcached:1.6", "run-as-user": ""}, nil,
		},
		"webhooks one after the other": {
			head + ours + "      webhooks:\n      - certs: olm\n        validation: true\n      - certs: olm\n        conversion: true\n        defaulting: true\n", true,
			&resource.Webhooks{Defaulting: true, Validation: true, Conversion: true}, flags{"pattern": "blank", "controller": "true"},
			[]flags{{"certs": "olm", "programmatic-validation": "true"}, {"certs": "olm", "conversion": "true", "defaulting": "true"}},
		},
		"stored objects are migrated": {
			head + ours + "      webhooks:\n      - certs: self\n        conversion: true\n        migrateStorage: true\n", true,
			&resource.Webhooks{Conversion: true}, flags{"pattern": "blank", "controller": "true"},
			[]flags{{"certs": "self", "conversion": "true", "migrate-storage": "true"}},
		},
		"webhooks that went, and one of another tool": {
			head + ours + "      webhooks:\n      - certs: self\n        validation: true\n", true,
			&resource.Webhooks{Defaulting: true}, flags{"pattern": "blank", "controller": "true"},
			[]flags{{"certs": "mine", "defaulting": "true"}},
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			config := cfgv3.New()
			if err := config.UnmarshalYAML([]byte(c.text)); err != nil {
				t.Fatal(err)
			}
			res := resource.Resource{
				GVK: resource.GVK{Group: "cache", Domain: "example.com", Version: "v1", Kind: "Memcached"},
				API: &resource.API{CRDVersion: "v1", Namespaced: true}, Controller: c.controller, Webhooks: c.webhooks,
			}
			api, runs, err := v4.Plugin{}.Recorded(config, res, "mine")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.api, api); d != "" {
				t.Errorf("api (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.runs, runs); d != "" {
				t.Errorf("webhooks (-want +got):\n%s", d)
			}
		})
	}
}
