package v4

import (
	"strings"
	"testing"
)

func TestStorageVersion(t *testing.T) {
	const marker = "// " + storageMarker + "\n"
	first, second := "api/v1alpha1/memcached_types.go", "api/v1/memcached_types.go"
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	if strings.Contains(p.files(t)[first], marker) {
		t.Error("the only version is marked as the stored one")
	}
	before := p.files(t)[first]
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v1")
	after := p.files(t)[first]
	if strings.Replace(after, marker, "", 1) != before || strings.Count(after, marker) != 1 {
		t.Errorf("the first version became\n%s", after)
	}
	if !strings.Contains(after, "// +kubebuilder:object:root=true\n"+marker+"// +kubebuilder:subresource:status\n") {
		t.Error("the marker is not among the markers of the type")
	}
	if strings.Contains(p.files(t)[second], marker) {
		t.Error("two versions are stored")
	}

	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v2")
	if got := strings.Count(p.files(t)[first]+p.files(t)[second]+p.files(t)["api/v2/memcached_types.go"], marker); got != 1 {
		t.Errorf("%d versions are stored after the third", got)
	}
}

func TestStorageVersionIsTheUsers(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v1")
	first, second := "api/v1alpha1/memcached_types.go", "api/v1/memcached_types.go"
	p.write(t, first, strings.Replace(p.files(t)[first], storageMarker, "", 1))
	p.write(t, second, strings.Replace(p.files(t)[second], "// +kubebuilder:subresource:status", "// "+storageMarker+"\n// +kubebuilder:subresource:status", 1))
	moved := p.files(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v2")
	if now := p.files(t); now[first] != moved[first] || now[second] != moved[second] {
		t.Error("the stored version was changed, though one is marked")
	}
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v1", "--force")
	if !strings.Contains(p.files(t)[second], storageMarker) {
		t.Error("--force lost the stored version")
	}
}

func TestStorageMarkerFindsItsPlace(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"with a comment": {
			"package v1\n\n// T is mine.\ntype T struct{}\n",
			"package v1\n\n// +kubebuilder:storageversion\n// T is mine.\ntype T struct{}\n"},
		"without one": {
			"package v1\n\ntype T struct{}\n",
			"package v1\n\n// +kubebuilder:storageversion\ntype T struct{}\n"},
		"behind another comment": {
			"package v1\n\ntype A struct{} // +kubebuilder:object:root=true\n\n// T is mine.\ntype T struct{}\n",
			"package v1\n\ntype A struct{} // +kubebuilder:object:root=true\n\n" +
				"// +kubebuilder:storageversion\n// T is mine.\ntype T struct{}\n"},
		"behind another kind": {
			"package v1\n\n// +kubebuilder:object:root=true\n\ntype A struct{}\n\n// +kubebuilder:object:root=true\n\n// T is mine.\ntype T struct{}\n",
			"package v1\n\n// +kubebuilder:object:root=true\n\ntype A struct{}\n\n// +kubebuilder:object:root=true\n// +kubebuilder:storageversion\n\n// T is mine.\ntype T struct{}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := addStorageMarker("t.go", test.text, "T")
			if err != nil || got != test.want {
				t.Errorf("got %q, %v\nwant %q", got, err, test.want)
			}
		})
	}
}

// Two kinds in one file have a marker each.
func TestStorageVersionOfEveryKind(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	p.mustCreateAPI(t, "--group=cache", "--kind=Redis", "--pattern=blank")
	const both, moved = "api/v1alpha1/memcached_types.go", "api/v1alpha1/redis_types.go"
	_, redis, _ := strings.Cut(p.files(t)[moved], "// RedisSpec ")
	p.write(t, both, p.files(t)[both]+"\n// RedisSpec "+redis)
	if err := p.disk.FS.Remove(moved); err != nil {
		t.Fatal(err)
	}
	for n, kind := range []string{"Memcached", "Redis"} {
		p.mustCreateAPI(t, "--group=cache", "--kind="+kind, "--version=v1")
		if got := strings.Count(p.files(t)[both], storageMarker); got != n+1 {
			t.Errorf("%d kinds are marked after %s", got, kind)
		}
	}
}

func TestStorageVersionOfBrokenTypes(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	p.write(t, "api/v1alpha1/memcached_types.go", "package v1alpha1\n\ntype {\n")
	_, err := p.createAPI(t, "--group=cache", "--kind=Memcached", "--version=v1")
	refused(t, err, "api/v1alpha1/memcached_types.go:3:6:")
}

func TestStorageVersionOfLostTypes(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	if err := p.disk.FS.Remove("api/v1alpha1/memcached_types.go"); err != nil {
		t.Fatal(err)
	}
	sub := p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v1")
	if notes := strings.Join(sub.Notes(), "\n"); !strings.Contains(notes, storageMarker) {
		t.Errorf("the notes are %q", notes)
	}
}
