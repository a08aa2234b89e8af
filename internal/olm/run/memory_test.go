package run

import (
	"testing"
	"time"

	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm"
)

// settling is what the server has to give memory back after a change.
const settling = 12 * time.Second

// memory is what the server holds when it has been left alone for a moment.
func (l *lab) memory() float64 {
	l.t.Helper()
	time.Sleep(settling)
	info, err := cluster.Status(l.t.Context(), l.host, state.DefaultName)
	if err != nil {
		l.t.Fatal(err)
	}
	return float64(info.Memory)
}

// grow measures what rounds add to the resident memory of a server that has seen
// one: its heap, garbage that waits included, etcd's file and the program. It
// knows Linux only.
func (l *lab) grow(b *testing.B, round func()) {
	b.Helper()
	round()
	before := l.memory()
	for b.Loop() {
		round()
	}
	now := l.memory()
	b.ReportMetric(now/1e6, "MB")
	b.ReportMetric(100*(now/before-1), "%-growth")
}

// BenchmarkMemoryOfBundles is what each run of a bundle and its cleanup leave in
// memory: 20 rounds, with -benchtime 20x, are to add at most 10 %.
func BenchmarkMemoryOfBundles(b *testing.B) {
	l := newLab(b)
	l.installOLM()
	shop := l.bundle("0.0.1", "")
	l.grow(b, func() {
		if _, err := Install(b.Context(), l.client, shop, l.options(nil)); err != nil {
			b.Fatal(err)
		}
		o := CleanupOptions{
			Namespace: "shop", CRDs: true, OperatorGroups: true, Timeout: 3 * time.Minute,
			Say: func(string, ...any) {}, Progress: func(kube.Result) {},
		}
		if _, err := Cleanup(b.Context(), l.client, "shop", o); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkMemoryOfOLM is what each installation of OLM leaves in memory: 10
// rounds, with -benchtime 10x, are to add at most 10 %.
func BenchmarkMemoryOfOLM(b *testing.B) {
	l := newLab(b)
	l.grow(b, func() {
		l.installOLM()
		m, err := olm.Source{Host: l.host}.Load(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := olm.Uninstall(b.Context(), l.client, m, olm.UninstallOptions{Timeout: 3 * time.Minute}); err != nil {
			b.Fatal(err)
		}
	})
}
