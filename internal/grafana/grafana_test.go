package grafana_test

import (
	"encoding/json"
	"flag"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/example/mysdk/internal/grafana"
)

var update = flag.Bool("update", false, "rewrite testdata/want from what the code does")

// memcached are the files of the golden project.
func memcached(t *testing.T) map[string][]byte {
	t.Helper()
	found, unnamed, err := grafana.Find(os.DirFS("../../testdata/golden/memcached/want"), "example.com/memcached")
	if err != nil || len(unnamed) > 0 || len(found) == 0 {
		t.Fatalf("found %v, unnamed %v, %v", found, unnamed, err)
	}
	return render(t, found)
}

func render(t *testing.T, metrics []grafana.Metric) map[string][]byte {
	t.Helper()
	files, err := grafana.Render(grafana.Input{Project: "shop", Namespace: "shop-system", Job: job, Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const job = "shop-controller-manager-metrics-service"

// TestRender_Golden holds the files of a project to testdata/want; -update
// rewrites them.
func TestRender_Golden(t *testing.T) {
	for name, got := range memcached(t) {
		golden := filepath.Join("testdata/want", path.Base(name))
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s: rewrite it with -update (-want +got):\n%s", name, d)
		}
	}
}

// dashboard is what the tests read of one.
type dashboard struct {
	Title  string
	Panels []struct {
		ID                 int
		Type, Title        string
		GridPos            struct{ X, Y, W, H int }
		FieldConfig        struct{ Defaults struct{ Unit string } }
		Targets            []struct{ Expr, LegendFormat, RefID string }
		Description, Extra string
	}
}

func readDashboard(t *testing.T, data []byte) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return d
}

// many are metrics of every kind, with what JSON and PromQL could stumble over.
func many() []grafana.Metric {
	return []grafana.Metric{
		{Name: "a_total", Kind: "counter", Help: "Say \"a\\b\"\nand <c>."},
		{Name: "b_bytes_total", Kind: "counter", Labels: []string{"kind", "zone"}},
		{Name: "c", Kind: "gauge"},
		{Name: "d_ratio", Kind: "gauge", Labels: []string{"kind"}},
		{Name: "e_seconds", Kind: "histogram"},
		{Name: "f_seconds", Kind: "summary", Labels: []string{"kind"}},
		{Name: "f2_seconds", Kind: "summary"},
		{Expr: `sum(g{job="$job",namespace="$namespace",pod=~"$pod"})`, Unit: "none"},
	}
}

// TestRender_Dashboards: panels have ids of their own and do not overlap, within
// the 24 columns; each target has a name, and an expression that Prometheus reads.
func TestRender_Dashboards(t *testing.T) {
	files := render(t, many())
	panels := 0
	for _, name := range []string{grafana.RuntimeFile, grafana.CustomFile} {
		d := readDashboard(t, files[name])
		ids, cells := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			panels++
			if p.ID < 1 || ids[p.ID] {
				t.Errorf("%s: %s has the id %d", name, p.Title, p.ID)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other, taken := cells[[2]int{x, y}]; taken || x < 0 || x > 23 {
						t.Fatalf("%s: %s is on %q at %d,%d", name, p.Title, other, x, y)
					}
					cells[[2]int{x, y}] = p.Title
				}
			}
			if p.GridPos.W < 1 || p.GridPos.H < 1 || p.Title == "" || (p.Type == "row") != (len(p.Targets) == 0) {
				t.Errorf("%s: panel %+v", name, p)
			}
			refs := map[string]bool{}
			for _, target := range p.Targets {
				if target.RefID == "" || refs[target.RefID] {
					t.Errorf("%s: %s has the target %q twice", name, p.Title, target.RefID)
				}
				refs[target.RefID] = true
				parse(t, target.Expr)
			}
		}
	}
	if panels != 15+8 {
		t.Errorf("%d panels", panels)
	}
}

// parse reads PromQL as Grafana sends it.
func parse(t *testing.T, expr string) parser.Expr {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(expr, "$__rate_interval", "5m"))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return e
}

func TestRender_Custom(t *testing.T) {
	const on = `{job="$job", namespace="$namespace"}`
	const rated = on + "[$__rate_interval])"
	want := [][]string{ // title, unit, then expressions and legends
		{"a_total (rate)", "cps", "sum by () (rate(a_total" + rated + ")", ""},
		{"b_bytes_total (rate)", "Bps", "sum by (kind, zone) (rate(b_bytes_total" + rated + ")", "{{kind}} {{zone}}"},
		{"c", "short", "max by (pod) (c" + on + ")", "{{pod}}"},
		{"d_ratio", "percentunit", "max by (kind) (d_ratio" + on + ")", "{{kind}}"},
		{
			"e_seconds", "s", "histogram_quantile(0.50, sum by (le) (rate(e_seconds_bucket" + rated + "))", "p50",
			"histogram_quantile(0.95, sum by (le) (rate(e_seconds_bucket" + rated + "))", "p95",
			"histogram_quantile(0.99, sum by (le) (rate(e_seconds_bucket" + rated + "))", "p99",
		},
		{"f_seconds (mean)", "s", "sum by (kind) (rate(f_seconds_sum" + rated + ") / sum by (kind) (rate(f_seconds_count" + rated + ")", "{{kind}}"},
		{"f2_seconds (mean)", "s", "sum by () (rate(f2_seconds_sum" + rated + ") / sum by () (rate(f2_seconds_count" + rated + ")", ""},
		{`sum(g{job="$job",namespace="$namespace",pod=~"$pod"})`, "none", `sum(g{job="$job",namespace="$namespace",pod=~"$pod"})`, ""},
	}
	d := readDashboard(t, render(t, many())[grafana.CustomFile])
	var got [][]string
	for _, p := range d.Panels {
		row := []string{p.Title, p.FieldConfig.Defaults.Unit}
		for _, target := range p.Targets {
			row = append(row, target.Expr, target.LegendFormat)
		}
		got = append(got, row)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := d.Panels[0].Description; got != many()[0].Help {
		t.Errorf("description %q", got)
	}
	if files := render(t, nil); files[grafana.CustomFile] != nil {
		t.Error("a dashboard of no metrics")
	}
}

func TestUntouched(t *testing.T) {
	for name, data := range memcached(t) {
		if !grafana.Untouched(data) {
			t.Errorf("%s: not as written", name)
		}
		text := string(data)
		if !grafana.Untouched([]byte(strings.ReplaceAll(text, "\n", "\r\n"))) {
			t.Errorf("%s: ends of lines are git's", name)
		}
		if changed := strings.Replace(text, "shop", "shoe", 1); changed == text || grafana.Untouched([]byte(changed)) {
			t.Errorf("%s: a change is not seen", name)
		}
	}
	if grafana.Untouched([]byte("{}")) {
		t.Error("a file of somebody else")
	}
}

func TestListAlerts(t *testing.T) {
	const tail = "\n# [PROMETHEUS-WITH-CERTS] Makes it verify.\n#patches:\n#  - path: monitor_tls_patch.yaml\n"
	for name, c := range map[string]struct{ in, want, err string }{
		"of the scaffold": {"resources:\n- monitor.yaml\n" + tail, "resources:\n- monitor.yaml\n- alerts.yaml\n" + tail, ""},
		"there already":   {"resources: [alerts.yaml]\n", "resources: [alerts.yaml]\n", ""},
		"no resources":    {"# mine\nnamespace: a\n", "# mine\nnamespace: a\nresources:\n- alerts.yaml\n", ""},
		"not YAML":        {"a: b: c\n", "", "is not a kustomization"},
		"a list":          {"- a\n", "", "is not a kustomization"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := grafana.ListAlerts([]byte(c.in))
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v", err)
			}
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
