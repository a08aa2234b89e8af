package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/explore"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// exploreTime is what BenchmarkExplore gives to each operator.
const exploreTime = "2m"

// BenchmarkExplore explores the scaffolded operator, unchanged and with each of
// the mutants. The metric "found" should be 0 for the first and 1 for the others.
func BenchmarkExplore(b *testing.B) {
	w := kubetest.World(b)
	w.Now = time.Now // it is what is measured
	typeIn(b, w, "init", "--domain", "example.com", "--repo", "example.com/shop", "--project-name", "shop")
	typeIn(b, w, "create", "api", "--group", "cache", "--kind", "Memcached")
	controller := filepath.Join(w.Dir, "internal/controller/memcached_controller.go")
	good, err := os.ReadFile(controller)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("clean", func(b *testing.B) { benchmarkExplore(b, w) })
	for _, m := range mutants {
		b.Run(strings.ReplaceAll(m.name, " ", "-"), func(b *testing.B) {
			bad := replaceOnce(b, replaceOnce(b, string(good), m.old, m.new), mutantRights, rightsOf(m))
			if err := os.WriteFile(controller, []byte(bad), 0o600); err != nil {
				b.Fatal(err)
			}
			benchmarkExplore(b, w)
		})
	}
}

// BenchmarkExploreForeign explores another project. MYSDK_TEST_EXPLORE has its
// directory, followed by flags for explore.
func BenchmarkExploreForeign(b *testing.B) {
	words := strings.Fields(os.Getenv("MYSDK_TEST_EXPLORE"))
	if len(words) == 0 {
		b.Skip("MYSDK_TEST_EXPLORE names no project")
	}
	w := kubetest.World(b)
	w.Dir, w.Now = words[0], time.Now
	benchmarkExplore(b, w, words[1:]...)
}

func replaceOnce(b *testing.B, text, old, by string) string {
	b.Helper()
	if strings.Count(text, old) != 1 {
		b.Fatalf("%d times in the controller: %s", strings.Count(text, old), old)
	}
	return strings.Replace(text, old, by, 1)
}

// typeIn runs a command that is to succeed.
func typeIn(b *testing.B, w host.Host, args ...string) {
	b.Helper()
	var out bytes.Buffer
	w.IO = host.Streams{In: strings.NewReader(""), Out: &out, Err: &out}
	if code := root.Main(b.Context(), w, args); code != 0 {
		b.Fatalf("mysdk %v: exit code %d\n%s", args, code, &out)
	}
}

// benchmarkExplore reports what an exploration finds, and at what pace.
func benchmarkExplore(b *testing.B, w host.Host, flags ...string) {
	var r explore.Report
	for b.Loop() {
		var out, errs bytes.Buffer
		w.IO = host.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
		code := root.Main(b.Context(), w, append([]string{"explore", "-o", "json", "--time", exploreTime}, flags...))
		if code != 0 && code != clierr.CodeOutOfDate {
			b.Fatalf("exit code %d\n%s", code, &errs)
		}
		r = explore.Report{}
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			b.Fatal(err)
		}
	}
	minutes := r.Took.Minutes()
	b.ReportMetric(float64(r.Changes)/minutes, "changes/min")
	b.ReportMetric(float64(r.Faults)/minutes, "faults/min")
	b.ReportMetric(float64(min(len(r.Findings), 1)), "found")
	for _, f := range r.Findings {
		b.Logf("%s: %s", f.Check, f.Title)
	}
}
