package v4_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	cfgv3 "sigs.k8s.io/kubebuilder/v3/pkg/config/v3"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

func TestVariants(t *testing.T) {
	const controller = `
	memcachedImage = "memcached:1.6"
		WithCommand("memcached", "-o", "a b").
			WithRunAsUser(1002). // why
`
	const types = "// Memcached runs pods of memcached:1.5.\ntype Memcached struct{}\n" +
		"\t// +kubebuilder:default=11211\n\t// +optional\n\tContainerPort int32\n"
	const controllerFile, typesFile = "internal/controller/memcached_controller.go", "api/v1/memcached_types.go"
	tests := map[string]struct {
		files      map[string]string
		controller bool
		want       [][]map[string]string
	}{
		"everything": {
			map[string]string{controllerFile: controller, typesFile: types}, true,
			[][]map[string]string{
				{{"pattern": "deployment", "controller": "true", "image": "memcached:1.6", "image-container-command": "memcached,-o,a b", "image-container-port": "11211", "run-as-user": "1002"}},
				{{"pattern": "blank", "controller": "true"}},
				{{"pattern": "deployment", "controller": "false", "image": "memcached:1.6", "image-container-port": "11211"}, {"resource": "false"}},
			},
		},
		"types alone, beside a controller of another version": {
			map[string]string{controllerFile: controller, typesFile: types}, false,
			[][]map[string]string{
				{{"pattern": "deployment", "controller": "false", "image": "memcached:1.5", "image-container-port": "11211"}},
				{{"pattern": "blank", "controller": "false"}},
			},
		},
		"no user, no port, no command": {
			map[string]string{controllerFile: "\n\tmemcachedImage = \"memcached\"\n"}, true,
			[][]map[string]string{
				{{"pattern": "deployment", "controller": "true", "image": "memcached", "run-as-user": ""}},
				{{"pattern": "blank", "controller": "true"}},
				{{"pattern": "deployment", "controller": "false", "image": "memcached"}, {"resource": "false"}},
			},
		},
		"nothing there, or nothing of ours": {
			map[string]string{controllerFile: "package controller\n\nvar x = WithCommand(y).\n"}, true,
			[][]map[string]string{
				{{"pattern": "deployment", "controller": "true"}},
				{{"pattern": "blank", "controller": "true"}},
				{{"pattern": "deployment", "controller": "false"}, {"resource": "false"}},
			},
		},
		"a command that is an expression": {
			map[string]string{controllerFile: "\n\tmemcachedImage = \"m\"\n\t\tWithCommand(command...).\n"}, true,
			[][]map[string]string{
				{{"pattern": "deployment", "controller": "true", "image": "m", "run-as-user": ""}},
				{{"pattern": "blank", "controller": "true"}},
				{{"pattern": "deployment", "controller": "false", "image": "m"}, {"resource": "false"}},
			},
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			res := resource.Resource{
				GVK: resource.GVK{Group: "cache", Domain: "example.com", Version: "v1", Kind: "Memcached"},
				API: &resource.API{CRDVersion: "v1", Namespaced: true}, Controller: c.controller,
			}
			got := v4.Plugin{}.Variants(cfgv3.New(), res, func(name string) []byte { return []byte(c.files[name]) })
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
