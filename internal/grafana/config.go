package grafana

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
)

// ConfigFile lists metrics of the user's choice, as for kubebuilder's plugin.
const ConfigFile = Dir + "/custom-metrics/config.yaml"

type config struct {
	CustomMetrics []Metric `yaml:"customMetrics"`
}

var lineOf = lazy.Delayed(`line (\d+): (.*)`)

// ReadConfig reads ConfigFile. Entries that kubebuilder leaves out because it
// cannot read them are errors with their line.
func ReadConfig(data []byte) ([]Metric, error) {
	var c config
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		text := ConfigFile + ": " + err.Error()
		if m := lineOf.FindStringSubmatch(text); m != nil {
			text = ConfigFile + ":" + m[1] + ": " + strings.TrimSuffix(m[2], " in type grafana.config")
		}
		return nil, clierr.Failedf("customMetrics lists entries with metric, type (counter, gauge, histogram or summary), expr and unit; metric and type are enough, and so is expr", "%s", text)
	}
	return c.CustomMetrics, nil
}

// UnmarshalYAML checks an entry of ConfigFile.
func (m *Metric) UnmarshalYAML(n *yaml.Node) error {
	fields := map[string]string{}
	if err := n.Decode(&fields); err != nil {
		return err
	}
	for j := 0; j < len(n.Content); j += 2 {
		if key := n.Content[j]; !slices.Contains([]string{"metric", "type", "expr", "unit"}, key.Value) {
			return fmt.Errorf("line %d: field %s not found", key.Line, key.Value)
		}
	}
	*m = Metric{Name: fields["metric"], Kind: strings.ToLower(fields["type"]), Expr: fields["expr"], Unit: fields["unit"]}
	// Kubebuilder puts the text between the quotes of a dashboard as it is.
	var text string
	if strings.Contains(m.Expr, `\"`) && json.Unmarshal([]byte(`"`+m.Expr+`"`), &text) == nil {
		m.Expr = text
	}
	switch {
	case !slices.Contains([]string{"", "counter", "gauge", "histogram", "summary"}, m.Kind):
		return fmt.Errorf("line %d: unknown type %q", n.Line, m.Kind)
	case m.Expr == "" && (m.Name == "" || m.Kind == ""):
		return fmt.Errorf("line %d: neither expr nor metric and type", n.Line)
	}
	return nil
}
