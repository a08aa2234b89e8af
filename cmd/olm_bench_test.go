package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// benchBundles is a project with its bundles 0.0.1 and 0.0.2, OLM, and an
// operator that has been compiled before.
func benchBundles(b *testing.B) *olmRun {
	b.Helper()
	r := newOLMRun(b)
	r.mysdk("olm install --timeout 10m")
	r.scaffold()
	for _, v := range []string{"0.0.1", "0.0.2"} {
		r.mysdk("bundle generate --version " + v)
		if err := os.CopyFS(filepath.Join(r.h.Dir, "v"+v), os.DirFS(filepath.Join(r.h.Dir, "bundle"))); err != nil {
			b.Fatal(err)
		}
	}
	r.mysdk("run bundle ./v0.0.1 -n warm", "cleanup shop-operator -n warm")
	return r
}

// BenchmarkRunBundle measures from a bundle's directory to an operator that is
// installed to stay.
func BenchmarkRunBundle(b *testing.B) {
	r := benchBundles(b)
	for i := 0; b.Loop(); i++ {
		r.mysdk(fmt.Sprintf("run bundle ./v0.0.1 -n bench-%d", i))
		b.StopTimer()
		r.mysdk(fmt.Sprintf("cleanup shop-operator -n bench-%d", i))
		b.StartTimer()
	}
}

// BenchmarkRunBundleUpgrade measures from the next bundle's directory to the
// old version gone and the new one there to stay.
func BenchmarkRunBundleUpgrade(b *testing.B) {
	r := benchBundles(b)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		r.mysdk(fmt.Sprintf("run bundle ./v0.0.1 -n bench-%d", i))
		b.StartTimer()
		r.mysdk(fmt.Sprintf("run bundle-upgrade ./v0.0.2 -n bench-%d", i))
		b.StopTimer()
		r.mysdk(fmt.Sprintf("cleanup shop-operator -n bench-%d", i))
		b.StartTimer()
	}
}
