// Package grafana makes Grafana dashboards and Prometheus alerts for an operator:
// of the metrics that every controller-runtime has, and of those that the
// project's code makes, which it finds in the syntax of the code. Names and places
// of the files are those of kubebuilder's plugin grafana/v1-alpha. It knows neither
// Grafana nor Prometheus, and writes no files.
package grafana

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"

	lazy "go.podman.io/storage/pkg/regexp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// PluginKey is what PROJECT records the dashboards under, as kubebuilder's plugin
// does.
const PluginKey = "grafana.kubebuilder.io/v1-alpha"

// The files of the plugin, relative to the project.
const (
	Dir         = "grafana"
	RuntimeFile = Dir + "/controller-runtime-metrics.json"
	CustomFile  = Dir + "/custom-metrics/custom-metrics-dashboard.json"
	AlertsFile  = "config/prometheus/alerts.yaml"
	// KustomizationFile lists AlertsFile.
	KustomizationFile = "config/prometheus/kustomization.yaml"
)

//go:embed templates
var templates embed.FS

// Input is what the files are made of.
type Input struct {
	Project   string // its name
	Namespace string // the operator's
	Job       string // label job of its metrics: the name of the metrics Service
	Metrics   []Metric
}

// panel is one of a dashboard. One without targets is the heading of a row.
type panel struct {
	Title, Help, Unit string
	Targets           []target
	ID, X, Y, W, H    int `yaml:"-"`
}

// target is a query. Legend is the name of its series, with {{labels}}.
type target struct{ Expr, Legend string }

// selector picks the operator by the variables of the dashboards.
const selector = `{job="$job", namespace="$namespace"}`

// Render returns the files by their paths. There is no CustomFile without
// metrics.
func Render(in Input) (map[string][]byte, error) {
	var runtime []panel
	data, err := templates.ReadFile("templates/controller-runtime.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, &runtime)
	}
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	if files[RuntimeFile], err = in.dashboard("controller-runtime metrics", runtime); err != nil {
		return nil, err
	}
	var custom []panel
	for _, m := range in.Metrics {
		custom = append(custom, m.panel())
	}
	if len(custom) > 0 {
		if files[CustomFile], err = in.dashboard("custom metrics", custom); err != nil {
			return nil, err
		}
	}
	files[AlertsFile], err = render("alerts.yaml", in)
	return files, err
}

func (in Input) dashboard(title string, panels []panel) ([]byte, error) {
	layOut(panels)
	return render("dashboard.json", struct {
		Input
		Title  string
		Panels []panel
	}{in, in.Project + ": " + title, panels})
}

// layOut gives panels their ids and places: two in a line, of the 24 columns
// that a dashboard has.
func layOut(panels []panel) {
	x, y := 0, 0
	for i := range panels {
		p := &panels[i]
		p.ID, p.W, p.H = i+1, 12, 8
		if len(p.Targets) == 0 {
			p.W, p.H = 24, 1
		}
		if x+p.W > 24 {
			x, y = 0, y+8
		}
		p.X, p.Y = x, y
		if x += p.W; p.H == 1 {
			x, y = 0, y+1
		}
	}
}

func render(name string, data any) ([]byte, error) {
	t, err := template.New(name).Delims("[[", "]]").Funcs(template.FuncMap{"quote": quote}).ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, err
	}
	return seal(out.Bytes()), nil
}

// quote is a text in JSON, for people to read.
func quote(text string) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(text)
	return strings.TrimSpace(out.String()), err
}

var sealed = lazy.Delayed(`sha256:[0-9a-f]{64}`)

// seal puts the hash of a file into it, so that later a change of the user's can
// be told from one of the project.
func seal(data []byte) []byte {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	at := sealed.FindStringIndex(string(data))
	if at == nil {
		return data
	}
	data = slices.Concat(data[:at[0]], data[at[1]:])
	return slices.Concat(data[:at[0]], fmt.Appendf(nil, "sha256:%x", sha256.Sum256(data)), data[at[0]:])
}

// Untouched says whether a file is as Render has made it, whatever project and
// version it was made for.
func Untouched(data []byte) bool {
	return sealed.MatchString(string(data)) && bytes.Equal(seal(data), bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
}

// panel shows a metric as its kind is read.
func (m Metric) panel() panel {
	p := panel{Title: cmp.Or(m.Name, m.Expr), Help: m.Help, Unit: cmp.Or(m.Unit, m.unit())}
	by, legend := strings.Join(m.Labels, ", "), ""
	if by != "" {
		legend = "{{" + strings.Join(m.Labels, "}} {{") + "}}"
	}
	rate := func(suffix string) string { return "rate(" + m.Name + suffix + selector + "[$__rate_interval])" }
	switch {
	case m.Expr != "":
		p.Targets = []target{{Expr: m.Expr}}
	case m.Kind == "counter":
		p.Title += " (rate)"
		p.Targets = []target{{"sum by (" + by + ") (" + rate("") + ")", legend}}
	case m.Kind == "histogram":
		for _, q := range []string{"50", "95", "99"} {
			p.Targets = append(p.Targets, target{"histogram_quantile(0." + q + ", sum by (le) (" + rate("_bucket") + "))", "p" + q})
		}
	case m.Kind == "summary":
		p.Title += " (mean)"
		p.Targets = []target{{fmt.Sprintf("sum by (%s) (%s) / sum by (%[1]s) (%[3]s)", by, rate("_sum"), rate("_count")), legend}}
	default:
		p.Targets = []target{{"max by (" + cmp.Or(by, "pod") + ") (" + m.Name + selector + ")", cmp.Or(legend, "{{pod}}")}}
	}
	return p
}

// unit is Grafana's unit of a metric, by the suffix that Prometheus' naming
// conventions ask for. Counters are shown as rates.
func (m Metric) unit() string {
	for _, u := range []struct{ suffix, unit, rate string }{{"_seconds", "s", "percentunit"}, {"_bytes", "bytes", "Bps"}, {"_ratio", "percentunit", "cps"}, {"", "short", "cps"}} {
		if strings.HasSuffix(strings.TrimSuffix(m.Name, "_total"), u.suffix) {
			if m.Kind == "counter" {
				return u.rate
			}
			return u.unit
		}
	}
	return ""
}

// Merge joins the metrics of the code with those of ConfigFile, which take the
// place of those of the same name.
func Merge(found, config []Metric) (all []Metric) {
	for _, m := range found {
		listed := false
		for i := range config {
			if config[i].Name == m.Name {
				config[i].Help, config[i].Labels, listed = m.Help, m.Labels, true
			}
		}
		if !listed {
			all = append(all, m)
		}
	}
	return append(all, config...)
}

// ListAlerts adds AlertsFile to the resources of KustomizationFile.
func ListAlerts(data []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, clierr.Failedf("correct the file and run the command again", "%s is not a kustomization", KustomizationFile)
	}
	entry := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "alerts.yaml"}
	list := yamledit.Value(doc.Content[0], "resources")
	switch {
	case list == nil || list.Kind != yaml.SequenceNode:
		yamledit.Set(doc.Content[0], "resources", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{entry}})
	case slices.ContainsFunc(list.Content, func(n *yaml.Node) bool { return n.Value == entry.Value }):
		return data, nil
	default:
		list.Content = append(list.Content, entry)
	}
	return yamledit.Encode(&doc)
}
