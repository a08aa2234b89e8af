package compat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	node "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// Key is where the settings stand in a configuration file of mysdk.
const Key = "generate.check-compat"

// Config says which rules count. It is spelled as crdify's configuration.
type Config struct {
	Validations          []Validation `json:"validations,omitempty"`
	UnhandledEnforcement string       `json:"unhandledEnforcement,omitempty"`
	Conversion           string       `json:"conversion,omitempty"` // None or Ignore
}

// Validation is how one rule counts: as Error, as Warn or not at all, as None.
type Validation struct {
	Name          string         `json:"name"`
	Enforcement   string         `json:"enforcement"`
	Configuration map[string]any `json:"configuration,omitempty"`
}

const (
	unhandled   = "unhandled"
	description = "description" // the rule that is off unless somebody turns it on
)

// policies are the settings that crdify's rules have.
var policies = map[string][]string{"enum": {"additionPolicy"}, "nullable": {"additionPolicy", "removalPolicy"}, "pattern": {"removalPolicy"}}

// ReadConfig reads the settings below Key in a configuration file, whose name is
// for errors. ok is false without any.
func ReadConfig(file string, data []byte) (c Config, ok bool, err error) {
	var doc node.Node
	if err := node.Unmarshal(data, &doc); err != nil {
		return c, false, clierr.Usagef("correct the file", "%s: %w", file, err)
	}
	found := yamledit.Lookup(&doc, Key)
	if found == nil {
		return c, false, nil
	}
	wrong := func(hint, text string, args ...any) (Config, bool, error) {
		return c, true, clierr.Usagef(hint, "%s: %s: %s", file, Key, fmt.Sprintf(text, args...))
	}
	var value any // without the aliases of the tree
	err = found.Decode(&value)
	text, bad := yaml.Marshal(value)
	if err = cmp.Or(err, bad); err == nil {
		err = yaml.UnmarshalStrict(text, &c)
	}
	if err != nil {
		_, key, unknown := strings.Cut(strings.TrimSuffix(err.Error(), `"`), `unknown field "`)
		if !unknown {
			return wrong("see the guide on API changes for an example", "expected validations, a list of rules, unhandledEnforcement and conversion")
		}
		return wrong(clierr.DidYouMean(key, []string{"validations", "unhandledEnforcement", "conversion", "name", "enforcement", "configuration"}), "unknown key %q", key)
	}
	enforcements := []string{"Error", "Warn", "None"}
	names := append(slices.Sorted(maps.Keys(hints)), description)
	for _, v := range append(c.Validations, Validation{unhandled, c.UnhandledEnforcement, nil}) {
		switch {
		case !slices.Contains(names, v.Name):
			return wrong(clierr.DidYouMean(v.Name, names), "unknown rule %q", v.Name)
		case !slices.Contains(enforcements, v.Enforcement) && (v.Name != unhandled || v.Enforcement != ""):
			return wrong(clierr.DidYouMean(v.Enforcement, enforcements), "unknown enforcement %q of %s", v.Enforcement, v.Name)
		}
		for key, value := range v.Configuration {
			if known := policies[v.Name]; !slices.Contains(known, key) {
				return wrong(clierr.DidYouMean(key, known), "unknown key %q of %s", key, v.Name)
			}
			if value != "Allow" && value != "Disallow" {
				return wrong("choose one of: Allow, Disallow", "unknown %s %q of %s", key, fmt.Sprint(value), v.Name)
			}
		}
	}
	if conversions := []string{"", "None", "Ignore"}; !slices.Contains(conversions, c.Conversion) {
		return wrong(clierr.DidYouMean(c.Conversion, conversions[1:]), "unknown conversion %q", c.Conversion)
	}
	return c, true, nil
}

// enforcement is how a rule counts.
func (c Config) enforcement(rule string) string {
	for _, v := range c.Validations {
		if v.Name == rule {
			return v.Enforcement
		}
	}
	if rule == unhandled && c.UnhandledEnforcement != "" {
		return c.UnhandledEnforcement
	}
	return "Error"
}
