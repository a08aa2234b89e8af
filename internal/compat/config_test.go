package compat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

func TestReadConfig(t *testing.T) {
	for name, c := range map[string]struct {
		text, err, hint string
		want            *Config
	}{
		"none":                {text: "cluster: dev\n"},
		"an empty file":       {text: ""},
		"other settings":      {text: "generate:\n  lint: {}\n"},
		"a rule":              {text: "generate:\n  check-compat:\n    validations: [{name: enum, enforcement: Error, configuration: {additionPolicy: Allow}}]\n", want: &Config{Validations: []Validation{{"enum", "Error", map[string]any{"additionPolicy": "Allow"}}}}},
		"dotted":              {text: "generate.check-compat:\n  unhandledEnforcement: Warn\n  conversion: None\n", want: &Config{UnhandledEnforcement: "Warn", Conversion: "None"}},
		"mysdk's own rule":    {text: "generate.check-compat: {validations: [{name: crdRemoval, enforcement: None}]}", want: &Config{Validations: []Validation{{"crdRemoval", "None", nil}}}},
		"unknown key":         {text: "generate:\n  check-compat: {validation: []}\n", err: `unknown key "validation"`, hint: `did you mean "validations"?`},
		"unknown key below":   {text: "generate:\n  check-compat: {validations: [{name: enum, enforce: None}]}\n", err: `unknown key "enforce"`, hint: `did you mean "enforcement"?`},
		"unknown rule":        {text: "generate:\n  check-compat: {validations: [{name: enums, enforcement: None}]}\n", err: `unknown rule "enums"`, hint: `did you mean "enum"?`},
		"unknown enforcement": {text: "generate:\n  check-compat: {validations: [{name: enum, enforcement: Warning}]}\n", err: `unknown enforcement "Warning" of enum`, hint: "choose one of: Error, Warn, None"},
		"no enforcement":      {text: "generate:\n  check-compat: {validations: [{name: enum}]}\n", err: `unknown enforcement "" of enum`},
		"of the rest":         {text: "generate:\n  check-compat: {unhandledEnforcement: Never}\n", err: `unknown enforcement "Never" of unhandled`},
		"unknown conversion":  {text: "generate:\n  check-compat: {conversion: Ignored}\n", err: `unknown conversion "Ignored"`, hint: `did you mean "Ignore"?`},
		"unknown policy":      {text: "generate:\n  check-compat: {validations: [{name: enum, enforcement: Error, configuration: {additionPolicies: Allow}}]}\n", err: `unknown key "additionPolicies" of enum`, hint: `did you mean "additionPolicy"?`},
		"a policy of none":    {text: "generate:\n  check-compat: {validations: [{name: type, enforcement: Error, configuration: {a: b}}]}\n", err: `unknown key "a" of type`},
		"a bad policy":        {text: "generate:\n  check-compat: {validations: [{name: enum, enforcement: Error, configuration: {additionPolicy: 1}}]}\n", err: `unknown additionPolicy "1" of enum`, hint: "choose one of: Allow, Disallow"},
		"no mapping":          {text: "generate:\n  check-compat: [a]\n", err: "expected validations, a list of rules"},
		"no YAML":             {text: "a: [", err: "x.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := ReadConfig("x.yaml", []byte(c.text))
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), "x.yaml: ") || !strings.Contains(err.Error(), c.err) || c.hint != "" && clierr.HintOf(err) != c.hint || clierr.CodeOf(err) != clierr.CodeUsage {
					t.Errorf("%v (%s), want %s (%s)", err, clierr.HintOf(err), c.err, c.hint)
				}
				return
			}
			if err != nil || ok != (c.want != nil) {
				t.Fatal(ok, err)
			}
			if c.want != nil {
				if diff := cmp.Diff(*c.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
