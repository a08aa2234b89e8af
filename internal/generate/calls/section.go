package calls

import (
	"bytes"
	"fmt"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"go.yaml.in/yaml/v3"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// File is mysdk's configuration of a project, where section.key lists calls.
const (
	File    = ".mysdk.yaml"
	section = "generate"
	key     = "controller-gen"
)

// entry is one call in the section: its arguments, as they are typed, or a
// mapping where it does not run in the project's root.
type entry struct {
	Dir  string `yaml:"dir,omitempty"`
	Args string `yaml:"args"`
	line int
}

// UnmarshalYAML takes both forms.
func (e *entry) UnmarshalYAML(n *yaml.Node) error {
	e.line = n.Line
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&e.Args)
	}
	type plain entry
	return n.Decode((*plain)(e))
}

// Of are the calls of the project in dir: those of its configuration, and
// without any those that Find finds. What edits their files counts in any case.
func Of(files host.Files, dir string) (Found, error) {
	listed, err := configured(files, dir)
	if err != nil {
		return Found{}, err
	}
	found, err := Find(files, dir)
	if len(listed) > 0 {
		found = Found{Calls: listed, Notes: found.edits, Edited: found.Edited}
	}
	return found, err
}

// configured are the calls in the project's configuration.
func configured(files host.Files, dir string) ([]generate.Call, error) {
	data, there, err := relayout.NewTree(files, dir).Read(File)
	if err != nil || !there {
		return nil, err
	}
	var c struct {
		Generate struct {
			Calls []entry `yaml:"controller-gen"`
		} `yaml:"generate"`
	}
	const hint = "list calls of controller-gen like this:\ngenerate:\n  controller-gen:\n  - crd:maxDescLen=0 paths=./api/... output:crd:dir=config/crd/bases"
	if err := yaml.Unmarshal(data, &c); err != nil {
		return nil, clierr.Usagef(hint, "%s: %w", File, err)
	}
	var out []generate.Call
	for _, e := range c.Generate.Calls {
		from := fmt.Sprintf("%s:%d", File, e.line)
		args, err := fields(e.Args)
		if err != nil {
			return nil, clierr.Usagef(hint, "%s: %w", from, err)
		}
		out = append(out, generate.Call{Dir: e.Dir, Args: args, From: from})
	}
	return out, nil
}

// fields are the words of a call as a shell has them.
func fields(text string) ([]string, error) {
	var words []*syntax.Word
	err := syntax.NewParser().Words(strings.NewReader(text), func(w *syntax.Word) bool {
		words = append(words, w)
		return true
	})
	if err != nil {
		return nil, err
	}
	keepBraces(words)
	return expand.Fields(&expand.Config{Env: expand.FuncEnviron(func(string) string { return "" })}, words...)
}

// plainWord means itself to a shell.
var plainWord = lazy.Delayed(`^[\w./:=,@%+-]+$`)

// Configure returns the configuration with the calls in it. What else it says stays.
func Configure(data []byte, list []generate.Call) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	var out bytes.Buffer
	if doc.Kind == 0 { // at most comments, which then are no part of the tree
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
		fmt.Fprintln(&out, strings.TrimSpace(string(data)))
	}
	if root := doc.Content[0]; root.Tag == "!!null" {
		root.Kind, root.Tag, root.Value = yaml.MappingNode, "!!map", ""
	}
	var entries []any
	for _, c := range list {
		var words []string
		for _, arg := range c.Args {
			if !plainWord.MatchString(arg) {
				var err error
				if arg, err = syntax.Quote(arg, syntax.LangBash); err != nil {
					return nil, fmt.Errorf("%s: %w", c.From, err)
				}
			}
			words = append(words, arg)
		}
		if args := strings.Join(words, " "); c.Dir == "" {
			entries = append(entries, args)
		} else {
			entries = append(entries, entry{Dir: c.Dir, Args: args})
		}
	}
	var value yaml.Node
	if err := value.Encode(entries); err != nil {
		return nil, err
	}
	yamledit.Set(yamledit.Mapping(doc.Content[0], section), key, &value)
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return bytes.TrimLeft(out.Bytes(), "\n"), enc.Close()
}

// made are the marks of a scaffold by mysdk: its version, which PROJECT has from
// releases, and the variable of the Makefile that names mysdk. That PROJECT has
// resources of mysdk's is none: create works in projects of other tools, too.
var made = map[string]lazy.Regexp{
	"PROJECT":  lazy.Delayed(`(?m)^  scaffold\.mysdk\.dev/v1:\n(?:    .*\n)*?    version:`),
	"Makefile": lazy.Delayed(`(?m)^MYSDK\s*[?:]?=`),
}

// Into fills in what is the project's own: its calls, unless options have some,
// and whether mysdk made it. That no call can be used is an error.
func Into(o *generate.Options) (Found, error) {
	o.Foreign = true
	for name, mark := range made {
		data, _, err := relayout.NewTree(o.Host.Files, o.Dir).Read(name)
		if err != nil {
			return Found{}, err
		}
		o.Foreign = o.Foreign && !mark.Match(data)
	}
	if len(o.Calls) > 0 {
		return Found{}, nil
	}
	found, err := Of(o.Host.Files, o.Dir)
	if err != nil {
		return found, err
	}
	if found.Unusable > 0 && len(found.Calls) == 0 {
		return found, clierr.Failedf("pass its arguments: mysdk generate -- crd paths=./api/... output:crd:dir=config/crd/bases\n"+
			"or list the calls under generate.controller-gen in "+File, "%s", strings.Join(found.Notes, "\n  "))
	}
	if generate.Usual(found.Calls, o.Dir) {
		found.Calls = nil
	}
	o.Calls = found.Calls
	return found, nil
}
