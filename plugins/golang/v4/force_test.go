package v4

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForceRepairs: types that do not parse are recreated, and stay the stored
// version.
func TestForceRepairs(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v1")
	before := maps.Clone(p.files(t))
	for _, version := range []string{"v1alpha1", "v1"} {
		name := "api/" + version + "/memcached_types.go"
		p.write(t, name, strings.Replace(before[name], "type MemcachedSpec struct {", "type MemcachedSpec", 1))
		p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version="+version, "--force")
		if diff := cmp.Diff(before, p.files(t)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", version, diff)
		}
	}
}

// TestForceTwiceChangesNothing: what a kind was made with need not be repeated.
func TestForceTwiceChangesNothing(t *testing.T) {
	for _, test := range []struct{ init, first, second []string }{
		{nil, nil, nil},
		{[]string{"--multigroup"}, nil, nil},
		{nil, []string{"--pattern=blank"}, []string{"--pattern=blank"}},
		{nil, []string{"--pattern=blank"}, []string{"--from=v1alpha1"}},
		{nil, []string{"--namespaced=false", "--plural=memcacheds-x"}, []string{"--namespaced=false", "--plural=memcacheds-x"}},
		{nil, []string{"--image=redis:8", "--image-container-port=6379", "--run-as-user="}, []string{"--image=redis:9"}},
	} {
		p := newTestProject(t, test.init...)
		p.mustCreateAPI(t, append(test.first, "--group=cache", "--kind=Memcached")...)
		p.mustCreateAPI(t, append(test.second, "--group=cache", "--kind=Memcached", "--version=v1")...)
		before, project := maps.Clone(p.files(t)), projectFile(t, p)
		for _, version := range []string{"v1alpha1", "v1"} {
			p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version="+version, "--force")
			if diff := cmp.Diff(before, p.files(t)) + cmp.Diff(project, projectFile(t, p)); diff != "" {
				t.Errorf("%v: the second run for %s changed (-before +after):\n%s", test, version, diff)
			}
		}
	}
}

// projectFile is PROJECT as the plugin leaves it.
func projectFile(t *testing.T, p *project) string {
	t.Helper()
	text, err := p.config.MarshalYAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestForceWithOtherFlags: those that are given count, and what they cannot change they say.
func TestForceWithOtherFlags(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--pattern=blank")
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v1", "--from=v1alpha1")
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v1", "--pattern=deployment", "--force")
	if text := p.files(t)["api/v1/memcached_types.go"]; !strings.Contains(text, "Size ") {
		t.Errorf("--pattern deployment --force wrote the types\n%s", text)
	}
	_, err := p.createAPI(t, "--group=cache", "--kind=Memcached", "--plural=mems", "--force")
	refused(t, err, "the plural of Memcached is memcacheds")
}
