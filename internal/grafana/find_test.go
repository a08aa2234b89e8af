package grafana_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/grafana"
)

const imports = `package a

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	prom "github.com/prometheus/client_golang/prometheus"
	"example.com/shop/internal/names"
	"fmt"
)

`

func TestFind(t *testing.T) {
	const unnamed = ": the name of this metric is not a constant"
	one := func(name, kind, help string, labels ...string) []grafana.Metric {
		return []grafana.Metric{{Name: name, Kind: kind, Help: help, Labels: labels}}
	}
	for name, c := range map[string]struct {
		code    string
		want    []grafana.Metric
		problem string
	}{
		"counter":          {code: `var _ = prometheus.NewCounter(prometheus.CounterOpts{Name: "a_total", Help: "As."})`, want: one("a_total", "counter", "As.")},
		"vector":           {code: `var _ = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "a_total"}, []string{"b", "c"})`, want: one("a_total", "counter", "", "b", "c")},
		"gauge func":       {code: `var _ = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "a"}, func() float64 { return 1 })`, want: one("a", "gauge", "")},
		"promauto":         {code: `var _ = promauto.NewHistogramVec(prometheus.HistogramOpts{Name: "a_seconds", Buckets: b()}, []string{"c"})`, want: one("a_seconds", "histogram", "", "c")},
		"registry":         {code: `var _ = promauto.With(r).NewSummary(prometheus.SummaryOpts{Name: "a_seconds"})`, want: one("a_seconds", "summary", "")},
		"factory":          {code: "func f() { x := promauto.With(r)\nx.NewGauge(prometheus.GaugeOpts{Name: `a`}) }", want: one("a", "gauge", "")},
		"other name":       {code: `var _ = prom.NewGauge(prom.GaugeOpts{Name: "a"})`, want: one("a", "gauge", "")},
		"parts":            {code: `var _ = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "a", Subsystem: "b", Name: "c"})`, want: one("a_b_c", "gauge", "")},
		"no subsystem":     {code: `var _ = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "a", Name: "c"})`, want: one("a_c", "gauge", "")},
		"constant":         {code: "const n = \"a\" + \"_\" + m\nconst m = \"b\"\nvar _ = prometheus.NewGauge(prometheus.GaugeOpts{Name: n})", want: one("a_b", "gauge", "")},
		"local constant":   {code: `func f() { const n = "a"; _ = prometheus.NewGauge(prometheus.GaugeOpts{Name: n, Help: fmt.Sprint(1)}) }`, want: one("a", "gauge", "")},
		"of other file":    {code: `var _ = prometheus.NewGauge(prometheus.GaugeOpts{Name: elsewhere})`, want: one("else_where", "gauge", "")},
		"of other package": {code: `var _ = prometheus.NewGauge(prometheus.GaugeOpts{Name: names.Prefix + "_b"})`, want: one("shop_b", "gauge", "")},
		"same twice":       {code: `var _, _ = prometheus.NewGauge(prometheus.GaugeOpts{Name: "a"}), prometheus.NewGauge(prometheus.GaugeOpts{Name: "a"})`, want: one("a", "gauge", "")},
		"labels not known": {code: `var _ = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "a"}, []string{"b", l()})`, want: one("a", "gauge", "")},
		"variable":         {code: "var n = \"a\"\nvar _ = prometheus.NewGauge(prometheus.GaugeOpts{Name: n})", problem: "a/a.go:12:9" + unnamed},
		"call":             {code: `func f() { prometheus.NewGauge(prometheus.GaugeOpts{Name: fmt.Sprint("a")}) }`, problem: "a/a.go:11:12" + unnamed},
		"variable part":    {code: `func f(n string) { prometheus.NewGauge(prometheus.GaugeOpts{Namespace: n, Name: "a"}) }`, problem: "a/a.go:11:20" + unnamed},
		"no name":          {code: `var _ = prometheus.NewGauge(prometheus.GaugeOpts{Help: "a"})`, problem: "a/a.go:11:9" + unnamed},
		"variable options": {code: `var _ = prometheus.NewGauge(o)`, problem: "a/a.go:11:9" + unnamed},
		"collector":        {code: `var _ = prometheus.NewDesc("a", "b", nil, nil)`, problem: "a/a.go:11:9: prometheus.NewDesc does not say the type of the metric"},
		"shadowed package": {code: "type p struct{}\nfunc (p) NewGauge(int) {}\nfunc f(prometheus p) { prometheus.NewGauge(1) }"},
		"other library":    {code: `var _ = names.NewGauge(names.GaugeOpts{Name: "a"})`},
		"not compiling":    {code: "var x int = \"\"\nvar _ = prometheus.NewGauge(prometheus.GaugeOpts{Name: \"a\"}, missing)", want: one("a", "gauge", "")},
	} {
		t.Run(name, func(t *testing.T) {
			gauge := func(name string) *fstest.MapFile {
				return &fstest.MapFile{Data: []byte(imports + `var _ = prometheus.NewGauge(prometheus.GaugeOpts{Name: "` + name + `"})`)}
			}
			found, problems, err := grafana.Find(fstest.MapFS{
				"a/a.go":                  {Data: []byte(imports + c.code)},
				"a/b.go":                  {Data: []byte("package a\n\nconst elsewhere = \"else_where\"\n")},
				"a/a_test.go":             gauge("test"),
				"vendor/b/b.go":           gauge("vendor"),
				"tools/go.mod":            {},
				"tools/a.go":              gauge("tools"),
				".git/a.go":               gauge("git"),
				"internal/names/names.go": {Data: []byte("package names\n\nimport _ \"example.com/shop/a\"\n\nconst Prefix = \"shop\"\n")},
			}, "example.com/shop")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, found); d != "" && len(c.want)+len(found) > 0 {
				t.Errorf("-want +got:\n%s", d)
			}
			if got := strings.Join(problems, "\n"); got != c.problem {
				t.Errorf("problems %q, want %q", got, c.problem)
			}
		})
	}
}

func TestFind_Syntax(t *testing.T) {
	_, _, err := grafana.Find(fstest.MapFS{"a.go": {Data: []byte("package a\nfunc {")}}, "example.com/shop")
	if err == nil || !strings.HasPrefix(err.Error(), "a.go:2:6: ") {
		t.Errorf("error %v", err)
	}
}

func TestReadConfig(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []grafana.Metric
		err  string // after the file's name
	}{
		"empty":         {in: ""},
		"no entries":    {in: "---\ncustomMetrics:\n#  - metric: # Raw custom metric (required)\n"},
		"metric":        {in: "customMetrics:\n- metric: a\n  type: Histogram\n  unit:\n", want: []grafana.Metric{{Name: "a", Kind: "histogram"}}},
		"expr":          {in: "customMetrics:\n- expr: a\n  unit: s\n", want: []grafana.Metric{{Expr: "a", Unit: "s"}}},
		"escaped":       {in: "customMetrics:\n- expr: a{b=\\\"$c\\\"}\n", want: []grafana.Metric{{Expr: `a{b="$c"}`}}},
		"not escaped":   {in: "customMetrics:\n- expr: a{b=~\"\\\\d\\\"\"}\n", want: []grafana.Metric{{Expr: `a{b=~"\\d\""}`}}},
		"unknown key":   {in: "customMetrics:\n- expr: a\n  query: b\n", err: ":3: field query not found"},
		"unknown top":   {in: "metrics:\n- expr: a\n", err: ":1: field metrics not found"},
		"unknown type":  {in: "customMetrics:\n- metric: a\n  type: timer\n", err: `:2: unknown type "timer"`},
		"no type":       {in: "customMetrics:\n- metric: a\n", err: ":2: neither expr nor metric and type"},
		"only a unit":   {in: "customMetrics:\n- expr: a\n- unit: s\n", err: ":3: neither expr nor metric and type"},
		"not a list":    {in: "customMetrics:\n  a: b\n", err: ":2: cannot unmarshal !!map into []grafana.Metric"},
		"not a mapping": {in: "customMetrics:\n- a\n", err: ":2: cannot unmarshal !!str `a` into map[string]string"},
		"a list inside": {in: "customMetrics:\n- metric: [a]\n", err: ":2: cannot unmarshal !!seq into string"},
		"not YAML":      {in: "customMetrics:\n- metric: a\n\texpr: b\n", err: ":2: found a tab character that violates indentation"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := grafana.ReadConfig([]byte(c.in))
			if c.err != "" {
				if err == nil || err.Error() != grafana.ConfigFile+c.err || clierr.HintOf(err) == "" {
					t.Errorf("error %v", err)
				}
				return
			}
			if d := cmp.Diff(c.want, got); err != nil || d != "" {
				t.Errorf("%v, -want +got:\n%s", err, d)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	got := grafana.Merge(
		[]grafana.Metric{{Name: "a", Kind: "gauge", Help: "As.", Labels: []string{"l"}}, {Name: "b", Kind: "gauge"}},
		[]grafana.Metric{{Name: "a", Kind: "counter"}, {Expr: "c"}},
	)
	want := []grafana.Metric{{Name: "b", Kind: "gauge"}, {Name: "a", Kind: "counter", Help: "As.", Labels: []string{"l"}}, {Expr: "c"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
