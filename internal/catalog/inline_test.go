package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/pkg/image"
	"github.com/operator-framework/operator-registry/pkg/registry"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
)

// TestInlineIsOperatorRegistrys holds the properties against those that
// operator-registry derives from the same files.
func TestInlineIsOperatorRegistrys(t *testing.T) {
	tests := map[string]spec{
		"plain": {},
		"dependencies": {files: map[string]string{"metadata/dependencies.yaml": `dependencies:
- type: olm.package
  value: {packageName: disks, version: ">1.0.0"}
- type: olm.gvk
  value: {group: net.example.com, kind: Link, version: v1}
- type: olm.constraint
  value: {failureMessage: no, cel: {rule: "true"}}
`}},
		"properties": {files: map[string]string{"metadata/properties.yaml": `properties:
- type: olm.maxOpenShiftVersion
  value: "4.18"
- type: olm.gvk
  value: {group: cache.example.com, kind: Memcached, version: v1alpha1}
`}},
		"release":    {name: "memcached-v0.1.0-2", extra: "  release: \"2\"\n"},
		"two files":  {files: map[string]string{"manifests/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ignored}\n"}},
		"apiservice": {extra: "  apiservicedefinitions:\n    owned:\n    - {name: flags, group: flags.example.com, version: v1, kind: Flag}\n    required:\n    - {name: logs, group: logs.example.com, version: v1, kind: Log}\n"},
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			data, err := inline([]*bundle.Bundle{newBundle(t, "0.1.0", s)}, "fast", nil)
			if err != nil {
				t.Fatal(err)
			}
			in, err := registry.NewImageInput(image.SimpleReference(""), onDisk(t, bundleFiles("0.1.0", s)))
			if err != nil {
				t.Fatal(err)
			}
			_, want, err := registry.ObjectsAndPropertiesFromBundle(in.Bundle)
			if err != nil {
				t.Fatal(err)
			}
			got := theirs(t, data)
			if d := cmp.Diff(values(t, want), values(t, got.Bundles[0].Properties)); d != "" {
				t.Errorf("properties (-operator-registry +ours):\n%s", d)
			}
			if _, err := declcfg.ConvertToModel(*got); err != nil {
				t.Errorf("operator-registry refuses it: %v", err)
			}
		})
	}
}

// values are properties as text, so that the order of keys does not matter.
func values(t *testing.T, list any) []string {
	t.Helper()
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var props []struct {
		Type  string
		Value any
	}
	if err := json.Unmarshal(data, &props); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range props {
		value, err := json.Marshal(p.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.Type+" "+string(value))
	}
	return out
}

func TestInlineChannel(t *testing.T) {
	one, two := newBundle(t, "0.1.0", spec{replaces: "memcached.v0.0.9"}), newBundle(t, "0.2.0", spec{skips: "[memcached.v0.1.5]", skip: "<0.2.0"})
	data, err := inline([]*bundle.Bundle{one, two}, "fast", map[string]string{"memcached.v0.2.0": "memcached.v0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(data, "it")
	if err != nil {
		t.Fatal(err)
	}
	want := []Channel{{Schema: SchemaChannel, Name: "fast", Package: "memcached", Entries: []Entry{
		{Name: "memcached.v0.1.0", Replaces: "memcached.v0.0.9"},
		{Name: "memcached.v0.2.0", Replaces: "memcached.v0.1.0", Skips: []string{"memcached.v0.1.5"}, SkipRange: "<0.2.0"},
	}}}
	if d := cmp.Diff(want, c.Channels); d != "" {
		t.Errorf("channels (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]Package{{Schema: SchemaPackage, Name: "memcached", DefaultChannel: "fast"}}, c.Packages); d != "" {
		t.Errorf("packages (-want +got):\n%s", d)
	}
	for _, b := range c.Bundles {
		if b.Image != "" {
			t.Errorf("%s has the image %s", b.Name, b.Image)
		}
	}
	again, err := inline([]*bundle.Bundle{one, two}, "fast", map[string]string{"memcached.v0.2.0": "memcached.v0.1.0"})
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("the second time it is another (%v)", err)
	}
}

func TestInlineRefuses(t *testing.T) {
	one, two := newBundle(t, "0.1.0", spec{}), newBundle(t, "0.2.0", spec{})
	tests := map[string]struct {
		bundles []*bundle.Bundle
		want    string
	}{
		"nothing":       {nil, "there is no bundle for it"},
		"two heads":     {[]*bundle.Bundle{one, two}, "several newest bundles, which nothing replaces: memcached.v0.1.0, memcached.v0.2.0"},
		"other package": {[]*bundle.Bundle{one, newBundle(t, "0.2.0", spec{pkg: "redis"})}, `redis.v0.2.0 is of the package "redis"`},
		"no CSV":        {[]*bundle.Bundle{{Package: "memcached"}}, "no ClusterServiceVersion"},
		"missing CRD": {[]*bundle.Bundle{newBundle(t, "0.1.0", spec{files: map[string]string{"manifests/memcacheds.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}})},
			"owns the CRD memcacheds.cache.example.com with kind Memcached in version v1alpha1"},
		"broken dependencies": {[]*bundle.Bundle{newBundle(t, "0.1.0", spec{files: map[string]string{"metadata/dependencies.yaml": "dependencies:\n- {type: olm.package, value: 3}\n"}})},
			"metadata/dependencies.yaml: a dependency on a package"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := inline(tt.bundles, "fast", nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := inline([]*bundle.Bundle{one, two}, "fast", nil); !strings.Contains(clierr.HintOf(err), "spec.replaces") {
		t.Errorf("hint %q", clierr.HintOf(err))
	}
}

func TestPartition(t *testing.T) {
	data, err := inline([]*bundle.Bundle{newBundle(t, "0.1.0", spec{}), newBundle(t, "0.2.0", spec{replaces: "memcached.v0.1.0"})}, "fast", nil)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := Parse(data, "the catalog")
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{PieceSize: 1, 3000: 2} {
		pieces, err := parsed.Partition(size)
		if err != nil {
			t.Fatal(err)
		}
		if len(pieces) < want || want == 1 && len(pieces) != 1 {
			t.Errorf("%d bytes: %d pieces", size, len(pieces))
		}
		var all Catalog
		for _, p := range pieces {
			if len(p) > size {
				t.Errorf("a piece has %d bytes, and %d are the most", len(p), size)
			}
			c, err := Parse(p, "piece")
			if err != nil {
				t.Fatal(err)
			}
			all.Packages, all.Channels, all.Bundles = append(all.Packages, c.Packages...), append(all.Channels, c.Channels...), append(all.Bundles, c.Bundles...)
		}
		whole, err := all.Encode(JSON)
		if err != nil || !bytes.Equal(whole, data) {
			t.Errorf("%d bytes: the pieces are not the whole (%v)", size, err)
		}
	}
	if _, err := parsed.Partition(1000); err == nil || !strings.Contains(err.Error(), "the bundle memcached.v0.1.0 is ") {
		t.Errorf("error %v", err)
	}
}
