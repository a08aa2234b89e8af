package grafana_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/grafana"
)

// rule is an alert of the PrometheusRule.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func rules(t *testing.T) []rule {
	t.Helper()
	var doc struct {
		APIVersion, Kind string
		Metadata         map[string]any
		Spec             struct {
			Groups []struct {
				Name  string
				Rules []rule
			}
		}
	}
	if err := yaml.UnmarshalStrict(render(t, nil)[grafana.AlertsFile], &doc); err != nil || len(doc.Spec.Groups) != 1 {
		t.Fatalf("%+v, %v", doc, err)
	}
	return doc.Spec.Groups[0].Rules
}

// stored answers what the engine of Prometheus asks from series in the notation
// of promtool's tests, with a value for each minute.
func stored(t *testing.T, lines []string) storage.Queryable {
	t.Helper()
	var all []storage.Series
	for _, line := range lines {
		set, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s := promql.Series{Metric: set}
		for i, v := range values {
			s.Floats = append(s.Floats, promql.FPoint{T: int64(i) * time.Minute.Milliseconds(), F: v.Value})
		}
		all = append(all, promql.NewStorageSeries(s))
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			var found []storage.Series
			for _, s := range all {
				if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
					found = append(found, s)
				}
			}
			return &seriesSet{next: found}
		},
	}}
}

type seriesSet struct {
	now  storage.Series
	next []storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.next) == 0 {
		return false
	}
	s.now, s.next = s.next[0], s.next[1:]
	return true
}

func (s *seriesSet) At() storage.Series { return s.now }

func (*seriesSet) Err() error { return nil }

func (*seriesSet) Warnings() annotations.Annotations { return nil }

// fires says whether an alert does so within an hour: whether its expression has
// the same result for as long as it asks.
func fires(t *testing.T, r rule, series storage.Queryable) bool {
	t.Helper()
	wait, err := time.ParseDuration(r.For)
	if err != nil {
		t.Fatal(err)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Hour, Parser: parser.NewParser(parser.Options{})})
	q, err := engine.NewRangeQuery(t.Context(), series, nil, r.Expr, time.Unix(0, 0), time.Unix(3600, 0), time.Minute)
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	defer q.Close()
	matrix, err := q.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	for _, s := range matrix {
		since := s.Floats[0].T
		for i, p := range s.Floats {
			if i > 0 && p.T-s.Floats[i-1].T > time.Minute.Milliseconds() {
				since = p.T
			}
			if p.T-since >= wait.Milliseconds() {
				return true
			}
		}
	}
	return false
}

func TestAlerts(t *testing.T) {
	// healthy is an operator with two pods, one reconcile and some errors in a minute.
	healthy := []string{
		`up{job="JOB", pod="a"} 1x60`, `up{job="JOB", pod="b"} 1x60`,
		`controller_runtime_reconcile_total{job="JOB", controller="shop", pod="a", result="success"} 0+60x60`,
		`controller_runtime_reconcile_total{job="JOB", controller="shop", pod="a", result="error"} 0+1x60`,
		`controller_runtime_reconcile_errors_total{job="JOB", controller="shop", pod="a"} 0+1x60`,
		`controller_runtime_reconcile_time_seconds_bucket{job="JOB", controller="shop", pod="a", le="1"} 0+60x60`,
		`controller_runtime_reconcile_time_seconds_bucket{job="JOB", controller="shop", pod="a", le="60"} 0+61x60`,
		`controller_runtime_reconcile_time_seconds_bucket{job="JOB", controller="shop", pod="a", le="+Inf"} 0+61x60`,
		`workqueue_depth{job="JOB", name="shop", pod="a", priority="0"} 0+3x4 12-3x4 0x52`,
		`leader_election_master_status{job="JOB", name="shop", pod="a"} 1x60`, `leader_election_master_status{job="JOB", name="shop", pod="b"} 0x60`,
	}
	// but is the healthy operator with other values of some series.
	but := func(changes ...string) (all []string) {
		all = slices.Clone(healthy)
		for _, c := range changes {
			name, values, _ := strings.Cut(c, " ")
			for i, line := range all {
				if series := line[:strings.Index(line, "}")+2]; strings.HasPrefix(line, name+"{") || strings.HasPrefix(strings.ReplaceAll(series, " ", ""), name) {
					all[i] = series + values
				}
			}
		}
		if slices.Equal(all, healthy) {
			t.Fatalf("%v changes nothing", changes)
		}
		return all
	}
	const errs, slow = "controller_runtime_reconcile_errors_total", `controller_runtime_reconcile_time_seconds_bucket{job="JOB",controller="shop",pod="a",le="1"}`
	for name, c := range map[string]struct {
		series []string
		want   []string
	}{
		"healthy":             {healthy, nil},
		"reconciles fail":     {but(errs + " 0+20x60"), []string{"OperatorReconcileErrors"}},
		"some fail":           {but(errs + " 0+5x60"), nil},
		"failed for a moment": {but(errs + " 0+20x8 160x52"), nil},
		"queue grows":         {but("workqueue_depth 0+3x60"), []string{"OperatorWorkQueueGrows"}},
		"queue is long":       {but("workqueue_depth 900x60"), nil},
		"queue gets shorter":  {but("workqueue_depth 900-3x60"), nil},
		"queue grew":          {but("workqueue_depth 0+20x5 100-20x4 0x49"), nil},
		"slow":                {but(slow + " 0+50x60"), []string{"OperatorReconcileSlow"}},
		"one in 60 is slow":   {but(slow + " 0+60x30 1800+59x30"), nil},
		"absent":              {nil, []string{"OperatorAbsent"}},
		"other operator":      {[]string{`up{job="other"} 1x60`, `leader_election_master_status{job="other"} 0x60`}, []string{"OperatorAbsent"}},
		"down":                {but("up 0x60"), []string{"OperatorAbsent"}},
		"one pod down":        {but(`up{job="JOB",pod="a"} 0x60`), nil},
		"down for a moment":   {but("up 1x20 0x3 1x36"), nil},
		"no leader":           {but("leader_election_master_status 0x60"), []string{"OperatorNoLeader"}},
		"change of leaders":   {but("leader_election_master_status 1x20 0x3 1x36"), nil},
		"without election":    {healthy[:len(healthy)-2], nil},
	} {
		t.Run(name, func(t *testing.T) {
			lines := slices.Clone(c.series)
			for i := range lines {
				lines[i] = strings.ReplaceAll(lines[i], "JOB", job)
			}
			series := stored(t, lines)
			var got []string
			for _, r := range rules(t) {
				if fires(t, r, series) {
					got = append(got, r.Alert)
				}
				if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
					t.Errorf("%s: labels %v, annotations %v", r.Alert, r.Labels, r.Annotations)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
