package olm

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkOLMInstall is an installation on an embedded cluster that runs and
// has none, until all of OLM works.
func BenchmarkOLMInstall(b *testing.B) {
	l := newLab(b)
	for b.Loop() {
		m, err := Source{Host: l.host}.Load(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Install(b.Context(), l.Client, m, InstallOptions{Now: time.Now}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if _, err := Uninstall(b.Context(), l.Client, m, UninstallOptions{Timeout: patience}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkUpgrade is the time from a changed catalog until the new version is
// the only one.
func BenchmarkUpgrade(b *testing.B) {
	l := newLab(b)
	l.install()
	l.apply(manifests(b, shop, memcachedGroup))
	versions := []string{"0.0.1"}
	l.apply(memcachedSource(b, memcachedCatalog(b, versions...)))
	l.apply(manifests(b, memcachedSubscription))
	l.awaitCSV("0.0.1")
	for patch := 2; b.Loop(); patch++ {
		version := fmt.Sprintf("0.0.%d", patch)
		versions = append(versions, version)
		l.apply(memcachedSource(b, memcachedCatalog(b, versions...)))
		l.awaitCSV(version)
	}
}

// BenchmarkManifests makes all of OLM's objects.
func BenchmarkManifests(b *testing.B) {
	for b.Loop() {
		m, err := BuiltIn(DefaultNamespace)
		if err != nil || len(m.All()) < 20 {
			b.Fatal(err)
		}
	}
}
