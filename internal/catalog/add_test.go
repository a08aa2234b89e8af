package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func entriesOf(c *Catalog, channel string) []Entry {
	for _, ch := range c.Channels {
		if ch.Name == channel {
			return ch.Entries
		}
	}
	return nil
}

func TestAdd(t *testing.T) {
	c := &Catalog{}
	one := Addition{newBundle(t, "0.1.0", spec{channels: "alpha,stable"}), "example.com/m:v0.1.0"}
	if err := c.Add([]Addition{one}, AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "no default channel") {
		t.Errorf("two channels and no default: %v", err)
	}
	two := Addition{newBundle(t, "0.2.0", spec{channels: "stable", channel: "stable", replaces: "memcached.v0.1.0"}), ""}
	for range 2 { // the second time nothing happens
		if err := c.Add([]Addition{one, two}, AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if p := c.Packages[0]; p.DefaultChannel != "stable" || p.Description != "Runs Memcached." || string(p.Icon.Data) != "<svg/>" {
		t.Errorf("package %+v", p)
	}
	want := []Entry{{Name: "memcached.v0.1.0"}, {Name: "memcached.v0.2.0", Replaces: "memcached.v0.1.0"}}
	if d := cmp.Diff(want, entriesOf(c, "stable")); d != "" {
		t.Errorf("stable (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want[:1], entriesOf(c, "alpha")); d != "" {
		t.Errorf("alpha (-want +got):\n%s", d)
	}
	if err := c.Add([]Addition{{one.Bundle, "example.com/other:v1"}}, AddOptions{}); err == nil || !strings.Contains(err.Error(), "it already has a different bundle of that name") {
		t.Errorf("another image: %v", err)
	}
	for _, changed := range []spec{{replaces: "memcached.v0.0.9"}, {replaces: "memcached.v0.1.0", skips: "[memcached.v0.0.9]"}, {replaces: "memcached.v0.1.0", skip: "<0.2.0"}} {
		changed.channels, changed.channel = "stable", "stable"
		at := Addition{newBundle(t, "0.3.0", changed), "example.com/m:v0.3.0"}
		fresh := &Catalog{}
		if err := fresh.Add([]Addition{{newBundle(t, "0.3.0", spec{channels: "stable", channel: "stable", replaces: "memcached.v0.1.0"}), at.Image}}, AddOptions{}); err != nil {
			t.Fatal(err)
		}
		fresh.Bundles[0], _ = Render(at.Bundle, at.Image) // of which the annotation is a part
		if err := fresh.Add([]Addition{at}, AddOptions{}); err == nil || !strings.Contains(err.Error(), "channel stable has memcached.v0.3.0 with other") {
			t.Errorf("%+v: %v", changed, err)
		}
		if err := fresh.Add([]Addition{at}, AddOptions{Mode: ModeSemver}); err != nil {
			t.Errorf("where versions decide: %v", err)
		}
	}
	if err := c.Add(nil, AddOptions{DefaultChannel: "alpha"}); err != nil || c.Packages[0].DefaultChannel != "stable" {
		t.Errorf("nothing was added, and the default channel is %s (%v)", c.Packages[0].DefaultChannel, err)
	}
}

func TestAddByVersion(t *testing.T) {
	versions := []string{"1.10.0", "1.2.0", "1.2.1", "1.2.10", "2.0.0-rc.1", "2.0.0"}
	tests := map[string][]Entry{
		ModeSemver: {
			{Name: "memcached.v1.2.0"}, {Name: "memcached.v1.2.1", Replaces: "memcached.v1.2.0"}, {Name: "memcached.v1.2.10", Replaces: "memcached.v1.2.1"},
			{Name: "memcached.v1.10.0", Replaces: "memcached.v1.2.10"}, {Name: "memcached.v2.0.0-rc.1", Replaces: "memcached.v1.10.0"}, {Name: "memcached.v2.0.0", Replaces: "memcached.v2.0.0-rc.1"},
		},
		ModeSkipPatch: {
			{Name: "memcached.v1.2.0"}, {Name: "memcached.v1.2.1"}, {Name: "memcached.v1.2.10", Skips: []string{"memcached.v1.2.0", "memcached.v1.2.1"}},
			{Name: "memcached.v1.10.0", Replaces: "memcached.v1.2.10"}, {Name: "memcached.v2.0.0-rc.1"}, {Name: "memcached.v2.0.0", Replaces: "memcached.v1.10.0", Skips: []string{"memcached.v2.0.0-rc.1"}},
		},
	}
	for mode, want := range tests {
		t.Run(mode, func(t *testing.T) {
			var list []Addition
			for _, v := range versions {
				list = append(list, Addition{newBundle(t, v, spec{replaces: "nonsense"}), ""})
			}
			c := &Catalog{}
			if err := c.Add(list[:3], AddOptions{Mode: mode}); err != nil {
				t.Fatal(err)
			}
			if err := c.Add(list[3:], AddOptions{Mode: mode}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, entriesOf(c, "alpha")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			err := c.Check()
			if err != nil {
				t.Error(err)
			}
			sameJudgement(t, c, err)
		})
	}
}

// TestAddByVersionKeeps: what is written by hand stays where no bundle is added, and
// so do skips of what is no patch.
func TestAddByVersionKeeps(t *testing.T) {
	for mode, skips := range map[string][]string{ModeSemver: {"memcached.v0.9.0"}, ModeSkipPatch: {"memcached.v0.9.0", "memcached.v1.0.0"}} {
		t.Run(mode, func(t *testing.T) {
			c := &Catalog{}
			if err := c.Add([]Addition{{newBundle(t, "1.0.0", spec{channels: "alpha,stable"}), ""}, {newBundle(t, "1.0.1", spec{channels: "alpha,stable", channel: "alpha"}), ""}}, AddOptions{Mode: mode}); err != nil {
				t.Fatal(err)
			}
			for i := range c.Channels {
				c.Channels[i].Entries[1].Replaces, c.Channels[i].Entries[1].Skips = "", []string{"memcached.v0.9.0"}
			}
			stable := slices.Clone(entriesOf(c, "stable"))
			for range 2 {
				if err := c.Add([]Addition{{newBundle(t, "2.0.0", spec{}), ""}}, AddOptions{Mode: mode}); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(stable, entriesOf(c, "stable")); d != "" {
				t.Errorf("stable (-want +got):\n%s", d)
			}
			if d := cmp.Diff(skips, entriesOf(c, "alpha")[1].Skips); d != "" {
				t.Errorf("alpha (-want +got):\n%s", d)
			}
		})
	}
}

// TestAddOlder: a fix for an old version tells nothing of the package that is
// newer than what it has.
func TestAddOlder(t *testing.T) {
	newer := newBundle(t, "2.0.0", spec{channels: "stable", channel: "stable"})
	older := newBundle(t, "1.0.1", spec{channels: "alpha", channel: "alpha"})
	older.CSV.Spec.Description, older.CSV.Spec.Icon[0].Data = "Ran Memcached.", "PGI+"
	for name, tt := range map[string]struct {
		before  func(*Package)
		o       AddOptions
		channel string
		text    string
		icon    string
	}{
		"all there":       {nil, AddOptions{}, "stable", "Runs Memcached.", "<svg/>"},
		"nothing there":   {func(p *Package) { p.DefaultChannel, p.Description, p.Icon = "", "", nil }, AddOptions{}, "alpha", "Ran Memcached.", "<b>"},
		"default channel": {nil, AddOptions{DefaultChannel: "alpha"}, "alpha", "Runs Memcached.", "<svg/>"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Catalog{}
			if err := c.Add([]Addition{{newer, "example.com/m:v2.0.0"}}, AddOptions{}); err != nil {
				t.Fatal(err)
			}
			p := &c.Packages[0]
			if tt.before != nil {
				tt.before(p)
			}
			if err := c.Add([]Addition{{older, "example.com/m:v1.0.1"}}, tt.o); err != nil {
				t.Fatal(err)
			}
			if p = &c.Packages[0]; p.DefaultChannel != tt.channel || p.Description != tt.text || string(p.Icon.Data) != tt.icon {
				t.Errorf("package %+v", p)
			}
		})
	}
}

func TestAddRefuses(t *testing.T) {
	bad := newBundle(t, "0.1.0", spec{})
	bad.Channels = nil
	if err := (&Catalog{}).Add([]Addition{{bad, ""}}, AddOptions{}); err == nil || !strings.Contains(err.Error(), "name no channel") {
		t.Errorf("error %v", err)
	}
}

// TestParse reads what it writes, in both formats, with everything in it.
func TestParse(t *testing.T) {
	c := fullCatalog(t)
	for _, format := range []string{JSON, YAML} {
		data, err := c.Encode(format)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(data, "it")
		if err != nil {
			t.Fatal(err)
		}
		again, err := got.Encode(format)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(data), string(again)); d != "" {
			t.Errorf("%s (-want +got):\n%s", format, d)
		}
		files, err := c.Files(format)
		if err != nil {
			t.Fatal(err)
		}
		text := map[string]string{"README.md": "no catalog", ".indexignore": "# not\nold.json\n", "old.json": "{", ".git/x.yaml": "{"}
		for name, data := range files {
			text[name] = string(data)
		}
		if got, err = Read(mapFS(text)); err != nil {
			t.Fatal(err)
		}
		if again, err = got.Encode(format); err != nil || string(again) != string(data) {
			t.Errorf("%s: the directory holds another (%v):\n%s", format, err, cmp.Diff(string(data), string(again)))
		}
		if _, ok := files["memcached/catalog."+format]; !ok || len(files) != 2 {
			t.Errorf("files %v", len(files))
		}
	}
}

// fullCatalog has something of everything.
func fullCatalog(t testing.TB) *Catalog {
	t.Helper()
	c := &Catalog{}
	err := c.Add([]Addition{
		{newBundle(t, "0.1.0", spec{channels: "alpha,stable"}), "example.com/m:v0.1.0"},
		{newBundle(t, "0.2.0", spec{channels: "stable", channel: "stable", replaces: "memcached.v0.1.0", skips: "[memcached.v0.1.1]", skip: "<0.2.0"}), "example.com/m:v0.2.0"},
		{newBundle(t, "1.0.0", spec{pkg: "redis", files: map[string]string{"metadata/dependencies.yaml": "dependencies:\n- {type: olm.package, value: {packageName: memcached, version: '>=0.1.0'}}\n"}}), ""},
	}, AddOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Deprecations = []Deprecations{{Schema: SchemaDeprecations, Package: "memcached", Entries: []DeprecationEntry{
		{Reference{SchemaPackage, ""}, "use redis"}, {Reference{SchemaChannel, "alpha"}, "use stable"}, {Reference{SchemaBundle, "memcached.v0.1.0"}, "<old>"},
	}}}
	c.Others = []Other{{Schema: "example.com.extra", Package: "redis", Data: []byte(`{"schema":"example.com.extra","package":"redis","b":"<1>","a":2}`)}}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBeside: files in another layout than that of Files have the same objects.
func TestBeside(t *testing.T) {
	c := fullCatalog(t)
	files, err := c.Files(YAML)
	if err != nil {
		t.Fatal(err)
	}
	other := "schema: olm.package\nname: etcd\ndefaultChannel: a\n"
	text := map[string]string{
		"operator.yaml": "schema: olm.channel\npackage: redis\nname: b\n", "memcached/index.json": `{"schema":"olm.package","name":"memcached"}`,
		"redis/catalog.yaml": "schema: olm.package\nname: redis\n", "etcd/catalog.yaml": other, "notes.yaml": "a: b\n", "broken.yaml": "a: [",
		".github/a.yaml": "schema: olm.package\nname: redis\n", "old.yaml": "schema: olm.package\nname: redis\n", ".indexignore": "old.yaml\n", "README.md": "redis",
	}
	got, err := c.Beside(mapFS(text), files)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"memcached/index.json", "operator.yaml"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]string{
		"{\"schema\": \"olm.package\"}\n{\n":                                           "f:2: unexpected EOF",
		"{\"schema\": \"olm.package\"}\n\n{\"name\": \"a\"}":                           "f:3: an object has no schema",
		"{\"schema\": \"olm.package\"}\n{\"schema\": \"olm.channel\", \"entries\": 3}": "f:2: json: cannot unmarshal number",
		"schema: olm.package\n---\nname: a\n":                                          "f:3: an object has no schema",
		"schema: olm.package\n---\nname: [a\n":                                         "f: yaml: line",
		"schema: olm.bundle\nproperties: 3\n":                                          "f:1: json: cannot unmarshal number",
		"- a\n":                                                                        "f:1: json: cannot unmarshal array",
	}
	for text, want := range tests {
		if _, err := Parse([]byte(text), "f"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("schema: olm.package\nname: a\ndefaultChannel: b\n---\n---\nschema: x.y\nv: 1\n"))
	f.Add([]byte(`{"schema":"olm.bundle","name":"a","package":"p","image":"","properties":[{"type":"olm.bundle.object","value":{"data":"e30="}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data, "f")
		if err != nil {
			return
		}
		once, err := c.Encode(JSON)
		if err != nil {
			return
		}
		again, err := Parse(once, "f")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		twice, err := again.Encode(JSON)
		if err != nil || string(once) != string(twice) {
			t.Errorf("%v: %s", err, cmp.Diff(string(once), string(twice)))
		}
	})
}
