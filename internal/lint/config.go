package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/initializer"
	"sigs.k8s.io/kube-api-linter/pkg/config"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// Key is where the settings stand in a configuration file of mysdk.
const Key = "generate.lint"

// Config says which linters run, and how. The fields are those that
// kube-api-linter has in the configuration of golangci-lint.
type Config struct {
	Linters       config.Linters
	LintersConfig config.LintersConfig
}

// on and off are the linters of which kube-api-linter says that they are for
// CRDs only, and those about Go pointers: to which kind a field of a CRD belongs
// its schema says, and a pointer in its place breaks the code that uses it.
var on, off = []string{"statusoptional", "statussubresource"}, []string{"nonpointerstructs", "optionalfields", "requiredfields"}

type settings = map[string]any

// forCRDs are settings that fit CRDs: kube-api-linter's own are those of the
// types in Kubernetes itself, which have protobuf and no kubebuilder markers.
func forCRDs() config.LintersConfig {
	ignore := settings{"policy": "Ignore"}
	return config.LintersConfig{
		"conditions":     settings{"isFirstField": "Ignore", "useProtobuf": "Ignore", "usePatchStrategy": "Ignore"},
		"defaults":       settings{"preferredDefaultMarker": "kubebuilder:default"},
		"optionalfields": settings{"pointers": settings{"preference": "WhenRequired"}, "omitempty": ignore},
		"requiredfields": settings{"omitempty": ignore},
	}
}

// withDefaults adds the linters and settings that c does not mention.
func (c Config) withDefaults() Config {
	all := forCRDs()
	maps.Copy(all, c.LintersConfig)
	l := config.Linters{Enable: slices.Clone(c.Linters.Enable), Disable: slices.Clone(c.Linters.Disable)}
	everything := []string{config.Wildcard}
	if !slices.Equal(l.Enable, everything) && !slices.Equal(l.Disable, everything) {
		l.Enable = append(l.Enable, without(on, l.Disable)...)
		l.Disable = append(l.Disable, without(off, l.Enable)...)
	}
	return Config{l, all}
}

func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}

// ReadConfig reads the settings below Key in a configuration file, whose name is
// for errors: they have the place of what is wrong. ok is false without any.
func ReadConfig(file string, data []byte) (c Config, ok bool, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return c, false, clierr.Usagef("correct the file", "%s: %w", file, err)
	}
	at := yamledit.Lookup(&doc, Key)
	if at == nil {
		return c, false, nil
	}
	r := reader{file: file, known: map[string]initializer.AnalyzerInitializer{}}
	for _, l := range linters() {
		r.known[l.Name()] = l
		r.names = append(r.names, l.Name())
	}
	r.pairs(at, []string{"linters", "lintersConfig"}, func(key, value *yaml.Node) {
		if key.Value == "lintersConfig" {
			c.LintersConfig = r.settings(value)
			return
		}
		r.pairs(value, []string{"enable", "disable"}, func(key, value *yaml.Node) {
			if key.Value == "enable" {
				c.Linters.Enable = r.list(value)
			} else {
				c.Linters.Disable = r.list(value)
			}
		})
	})
	for _, name := range c.Linters.Enable {
		if slices.Contains(c.Linters.Disable, name) {
			r.wrong(at, "", "%s is both enabled and disabled", name)
		}
	}
	return c, true, r.err
}

// reader reads the settings and keeps the first error.
type reader struct {
	file  string
	known map[string]initializer.AnalyzerInitializer
	names []string // of the linters
	err   error
}

func (r *reader) wrong(at *yaml.Node, hint, text string, args ...any) {
	if r.err == nil {
		if hint == "" {
			hint = "see 'mysdk generate --help' for an example of the settings"
		}
		r.err = clierr.Usagef(hint, "%s:%d:%d: %w", r.file, at.Line, at.Column, fmt.Errorf(text, args...))
	}
}

// pairs visits a mapping whose keys must be of those.
func (r *reader) pairs(n *yaml.Node, keys []string, visit func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "", "expected a mapping with %s", strings.Join(keys[:min(2, len(keys))], ", "))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; slices.Contains(keys, key.Value) {
			visit(key, n.Content[i+1])
		} else {
			r.wrong(key, clierr.DidYouMean(key.Value, keys), "unknown key %q", key.Value)
		}
	}
}

// list is a list of linters.
func (r *reader) list(n *yaml.Node) (out []string) {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, "", "expected a list of linters")
	}
	for _, one := range n.Content {
		if one.Value != config.Wildcard && r.known[one.Value] == nil {
			r.wrong(one, clierr.DidYouMean(one.Value, r.names), "unknown linter %q", one.Value)
		} else if one.Value == config.Wildcard && len(n.Content) > 1 {
			r.wrong(one, "", `"*" must be the only one in the list`)
		}
		out = append(out, one.Value)
	}
	return out
}

// settings are those of linters.
func (r *reader) settings(n *yaml.Node) config.LintersConfig {
	out := config.LintersConfig{}
	r.pairs(n, r.names, func(key, value *yaml.Node) {
		l, ok := r.known[key.Value].(initializer.ConfigurableAnalyzerInitializer)
		if !ok {
			r.wrong(key, "", "the linter %s has no settings", key.Value)
			return
		}
		var plain any
		err := value.Decode(&plain)
		data, marshalErr := yaml.Marshal(plain)
		typed := l.ConfigType()
		if err := errors.Join(err, marshalErr, sigsyaml.UnmarshalStrict(data, typed)); err != nil {
			r.wrong(where(value, err.Error()), "", "%s: %s", key.Value, strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: "))
			return
		}
		for _, e := range l.ValidateConfig(typed, field.NewPath(key.Value)) {
			r.wrong(key, "", "%w", e)
		}
		out[key.Value] = plain
	})
	return out
}

// where is the first key in n that an error quotes, else n.
func where(n *yaml.Node, said string) *yaml.Node {
	for i, child := range n.Content {
		if isKey := n.Kind == yaml.MappingNode && i%2 == 0; isKey && strings.Contains(said, fmt.Sprintf("unknown field %q", child.Value)) {
			return child
		}
		if at := where(child, said); at != child {
			return at
		}
	}
	return n
}
