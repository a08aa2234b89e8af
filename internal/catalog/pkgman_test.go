package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/bundle"
)

// pkgFiles are package manifests with a chain of three versions and one apart.
func pkgFiles() map[string]string {
	csv := func(version, replaces string) string {
		return bundleFiles(version, spec{replaces: replaces})["manifests/memcached.clusterserviceversion.yaml"]
	}
	return map[string]string{
		"memcached.package.yaml": "packageName: memcached\ndefaultChannel: stable\nchannels:\n- {name: alpha, currentCSV: memcached.v0.3.0}\n- {name: stable, currentCSV: memcached.v0.2.0}\n",
		"0.1.0/csv.yaml":         csv("0.1.0", ""), "0.1.0/crd.yaml": crdText,
		"0.2.0/csv.yaml": csv("0.2.0", "memcached.v0.1.0"), "0.2.0/crd.yaml": crdText,
		"0.3.0/csv.yaml": csv("0.3.0", "memcached.v0.2.0"), "0.3.0/crd.yaml": crdText,
		"0.9.0/csv.yaml": csv("0.9.0", "memcached.v0.9.0"), "0.9.0/deeper/crd.yaml": crdText,
	}
}

func TestFromPackageManifests(t *testing.T) {
	for _, prefix := range []string{"", "memcached/"} {
		files := map[string]string{}
		for name, text := range pkgFiles() {
			files[prefix+name] = text
		}
		list, err := FromPackageManifests(mapFS(files))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, c := range list {
			got[c.Version] = c.Channels
			below := map[string]string{}
			for name, data := range c.Files {
				if rest, ok := strings.CutPrefix(name, "bundle/"); ok {
					below[rest] = string(data)
				}
			}
			b, err := bundle.Load(mapFS(below))
			if err != nil {
				t.Fatal(err)
			}
			if b.Name() != "memcached.v"+c.Version || b.DefaultChannel != "stable" || len(b.CRDs()) != 1 || c.Files["bundle.Dockerfile"] == nil {
				t.Errorf("%s: %s, default channel %s", c.Version, b.Name(), b.DefaultChannel)
			}
			if c.Guessed != (c.Version == "0.9.0") {
				t.Errorf("%s: guessed is %v", c.Version, c.Guessed)
			}
		}
		want := map[string][]string{"0.1.0": {"alpha", "stable"}, "0.2.0": {"alpha", "stable"}, "0.3.0": {"alpha"}, "0.9.0": {"stable"}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("channels (-want +got):\n%s", d)
		}
	}
}

// TestFromPackageManifestsPassesOver: what else lies in such directories, that
// of git among it, belongs to no bundle.
func TestFromPackageManifestsPassesOver(t *testing.T) {
	files := pkgFiles()
	for name, text := range map[string]string{
		".git/config": "[core]\n\tbare = false\n", ".github/a.yaml": "a: [", "0.1.0/README.md": "# Memcached\n\tof: [\n",
		"0.1.0/.cache/crd.yaml": "a: [", "0.1.0/Makefile": "all:\n\ttrue\n",
	} {
		files[name] = text
	}
	list, err := FromPackageManifests(mapFS(files))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range list {
		got = append(got, c.Version)
		for name := range c.Files {
			if strings.Contains(name, "README") || strings.Contains(name, "Makefile") {
				t.Errorf("the bundle of %s has %s", c.Version, name)
			}
		}
	}
	if d := cmp.Diff([]string{"0.1.0", "0.2.0", "0.3.0", "0.9.0"}, got); d != "" {
		t.Errorf("versions (-want +got):\n%s", d)
	}
}

func TestFromPackageManifestsRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(map[string]string)
		want   string
	}{
		"no package":   {func(f map[string]string) { delete(f, "memcached.package.yaml") }, "there are 0 files of packages"},
		"two packages": {func(f map[string]string) { f["redis.package.yaml"] = "a: b" }, "there are 2 files of packages, and one is needed: memcached.package.yaml, redis.package.yaml"},
		"no name":      {func(f map[string]string) { f["memcached.package.yaml"] = "channels: []\n" }, "packageName or defaultChannel is missing"},
		"broken":       {func(f map[string]string) { f["memcached.package.yaml"] = "a: [" }, "memcached.package.yaml: "},
		"no versions": {func(f map[string]string) {
			for name := range f {
				if strings.Contains(name, "/") {
					delete(f, name)
				}
			}
		}, "there is no version of memcached"},
		"no CSV":           {func(f map[string]string) { delete(f, "0.1.0/csv.yaml") }, "0.1.0: there is no ClusterServiceVersion in it"},
		"broken manifest":  {func(f map[string]string) { f["0.1.0/csv.yaml"] = "a: [" }, "0.1.0/csv.yaml: "},
		"two scorecards":   {func(f map[string]string) { f["0.1.0/a.yaml"], f["0.1.0/b.yaml"] = scorecardText, scorecardText }, "there is a scorecard configuration in 0.1.0/a.yaml already"},
		"same name, twice": {func(f map[string]string) { f["0.1.0/more/crd.yaml"] = crdText }, "there are two files crd.yaml"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := pkgFiles()
			tt.change(files)
			if _, err := FromPackageManifests(mapFS(files)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

const scorecardText = "apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nmetadata: {name: config}\nstages: []\n"
