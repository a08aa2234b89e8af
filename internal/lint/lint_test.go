package lint

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kube-api-linter/pkg/config"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate"
)

func TestReadConfig(t *testing.T) {
	for name, c := range map[string]struct {
		text, err, hint string
		want            *Config
	}{
		"none":           {text: "cluster: dev\n"},
		"an empty file":  {text: ""},
		"other settings": {text: "generate:\n  controller-gen: [crd]\n"},
		"all":            {text: "generate:\n  lint:\n    linters: {enable: [maxlength], disable: [nophase]}\n    lintersConfig:\n      nomaps: {policy: Ignore}\n", want: &Config{config.Linters{Enable: []string{"maxlength"}, Disable: []string{"nophase"}}, config.LintersConfig{"nomaps": settings{"policy": "Ignore"}}}},
		"with dots":      {text: "generate.lint:\n  linters.disable: [nophase]\n", err: `x.yaml:2:3: unknown key "linters.disable"`, hint: "choose one of: linters, lintersConfig"},
		"dotted":         {text: "generate.lint:\n  linters: {disable: ['*']}\n", want: &Config{Linters: config.Linters{Disable: []string{"*"}}}},
		"unknown key":    {text: "generate:\n  lint:\n    linter: {}\n", err: `x.yaml:3:5: unknown key "linter"`, hint: `did you mean "linters"?`},
		"unknown list":   {text: "generate:\n  lint:\n    linters: {enabled: []}\n", err: `x.yaml:3:15: unknown key "enabled"`, hint: `did you mean "enable"?`},
		"unknown linter": {text: "generate:\n  lint:\n    linters: {enable: [nophases]}\n", err: `x.yaml:3:24: unknown linter "nophases"`, hint: `did you mean "nophase"?`},
		"both":           {text: "generate:\n  lint:\n    linters: {enable: [nophase], disable: [nophase]}\n", err: "x.yaml:3:5: nophase is both enabled and disabled"},
		"* and more":     {text: "generate:\n  lint:\n    linters: {enable: ['*', nophase]}\n", err: `x.yaml:3:24: "*" must be the only one in the list`},
		"no list":        {text: "generate:\n  lint:\n    linters: {enable: nophase}\n", err: "x.yaml:3:23: expected a list of linters"},
		"no mapping":     {text: "generate:\n  lint: [nophase]\n", err: "x.yaml:2:9: expected a mapping with linters, lintersConfig"},
		"no settings":    {text: "generate:\n  lint:\n    lintersConfig: {nophase: {}}\n", err: "x.yaml:3:21: the linter nophase has no settings"},
		"deep key":       {text: "generate:\n  lint:\n    lintersConfig:\n      optionalfields:\n        pointers: {prefrence: Always}\n", err: `x.yaml:5:20: optionalfields: json: unknown field "prefrence"`},
		"bad value":      {text: "generate:\n  lint:\n    lintersConfig: {nomaps: {policy: Sometimes}}\n", err: `x.yaml:3:21: nomaps.policy: Invalid value: "Sometimes"`},
		"no YAML":        {text: "a: [", err: "x.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := ReadConfig("x.yaml", []byte(c.text))
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) || c.hint != "" && clierr.HintOf(err) != c.hint || clierr.CodeOf(err) != clierr.CodeUsage {
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

// TestDefaults runs those that are on by default but where the user says
// otherwise.
func TestDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		linters config.Linters
		has     []string
		lacks   []string
	}{
		"none":           {config.Linters{}, []string{"conditions", "statusoptional"}, []string{"nonpointerstructs", "maxlength"}},
		"turned off":     {config.Linters{Disable: []string{"statusoptional"}}, []string{"conditions"}, []string{"statusoptional", "requiredfields"}},
		"turned on":      {config.Linters{Enable: []string{"requiredfields", "maxlength"}}, []string{"requiredfields", "maxlength", "statussubresource"}, []string{"optionalfields"}},
		"only these":     {config.Linters{Enable: []string{"nophase"}, Disable: []string{"*"}}, []string{"nophase"}, []string{"statusoptional", "conditions"}},
		"none whatsever": {config.Linters{Disable: []string{"*"}}, nil, []string{"statusoptional", "conditions"}},
	} {
		full := Config{Linters: c.linters}.withDefaults()
		analyzers, err := newRegistry().InitializeLinters(full.Linters, full.LintersConfig)
		if err != nil {
			t.Fatal(name, err)
		}
		var names []string
		for _, a := range analyzers {
			names = append(names, a.Name)
		}
		for _, want := range c.has {
			if !slices.Contains(names, want) {
				t.Errorf("%s: no %s in %v", name, want, names)
			}
		}
		for _, not := range c.lacks {
			if slices.Contains(names, not) {
				t.Errorf("%s: %s in %v", name, not, names)
			}
		}
	}
}

func TestFix(t *testing.T) {
	const src = "package a\n\ntype A struct {\n\tB int\n}\n"
	read := func(name string) ([]byte, error) {
		if name != "a.go" {
			return nil, errors.New("unreadable")
		}
		return []byte(src), nil
	}
	at := strings.Index(src, "int")
	edit := func(start, end int, text string) generate.Edit {
		return generate.Edit{File: "a.go", Start: start, End: end, New: text}
	}
	for name, c := range map[string]struct {
		fixes [][]generate.Edit
		want  string
		err   string
	}{
		"nothing":      {[][]generate.Edit{nil}, "", ""},
		"one":          {[][]generate.Edit{{edit(at, at+3, "string")}}, "B string", ""},
		"two places":   {[][]generate.Edit{{edit(at, at, "*")}, {edit(at-2, at-1, "CC")}}, "CC *int", ""},
		"twice":        {[][]generate.Edit{{edit(at, at, "*")}, {edit(at, at, "*")}}, "B *int", ""},
		"overlapping":  {[][]generate.Edit{{edit(at, at+3, "string")}, {edit(at, at, "*")}}, "B string", ""},
		"no longer Go": {[][]generate.Edit{{edit(at, at+3, "}")}}, "", "fix a.go: "},
		"unreadable":   {[][]generate.Edit{{{File: "b.go"}}}, "", "unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			var found []generate.Finding
			for _, fix := range c.fixes {
				found = append(found, generate.Finding{Fix: fix})
			}
			set, err := Fix(read, found)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			file, ok := set.Get("a.go")
			if ok != (c.want != "") || !strings.Contains(string(file.Data), c.want) {
				t.Errorf("%s", file.Data)
			}
		})
	}
}
