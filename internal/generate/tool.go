package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/applyconfiguration"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/genall/help"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
)

// Tool is the controller-gen command: controller-tools' own runtime, without
// mysdk's checks, and free to write wherever its arguments say.
type Tool struct {
	Host      host.Host
	BuildTags []string
}

// toolHint is where the arguments are explained.
const toolHint = "see 'mysdk controller-gen --help' for the arguments"

// Run generates what the arguments say. Nothing is written if a generator fails.
func (c Tool) Run(ctx context.Context, args []string) error {
	options, err := optionsRegistry()
	if err != nil {
		return err
	}
	if err := complete(args); err != nil {
		return err
	}
	rt, err := genall.FromOptionsWithConfig(&packages.Config{
		Context: ctx, Dir: c.Host.Dir, Env: c.Host.Environ(), BuildFlags: []string{"-tags=" + strings.Join(c.BuildTags, ",")},
	}, options, args)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return clierr.Failedf(toolHint, "%w", err)
	}
	if len(rt.Generators) == 0 {
		return clierr.Failedf(toolHint, "no generators specified")
	}
	t := newTree(c.Host.Dir, fileset.Set{})
	var files []*toolFile
	rt.InputRule, rt.ErrorWriter = t, c.Host.IO.Err
	rules := genall.OutputRules{ByGenerator: map[*genall.Generator]genall.OutputRule{}}
	for _, g := range rt.Generators {
		rules.ByGenerator[g] = &toolOutput{tool: c, rule: rt.OutputRules.ForGenerator(g), files: &files}
		if apply, ok := (*g).(applyconfiguration.Generator); ok {
			rules.ByGenerator[g] = &toolOutput{tool: c, rule: genall.OutputToDirectory(""), files: &files}
			*g = applyStep{apply, t, fmt.Sprint(c.Host.Now().Year())}
		}
	}
	rt.OutputRules = rules
	if rt.Run() {
		return clierr.Failedf("correct the errors above and run the command again", "not all generators ran successfully")
	}
	for _, f := range files {
		if err := f.write(c.Host); err != nil {
			return err
		}
	}
	return nil
}

// complete refuses an empty argument, over which controller-tools panics.
func complete(args []string) error {
	if slices.Contains(args, "") {
		return clierr.Failedf(toolHint, "an argument is empty")
	}
	return nil
}

// toolOutput keeps what a generator writes until all of them are done.
type toolOutput struct {
	tool  Tool
	rule  genall.OutputRule
	files *[]*toolFile
}

// Open implements genall.OutputRule.
func (o *toolOutput) Open(pkg *loader.Package, name string) (io.WriteCloser, error) {
	f := &toolFile{}
	switch rule := o.rule.(type) {
	case genall.OutputToDirectory:
		f.name = filepath.Join(string(rule), name)
	case genall.OutputArtifacts:
		switch {
		case pkg == nil:
			f.name = filepath.Join(string(rule.Config), name)
		case rule.Code != "":
			f.name = filepath.Join(string(rule.Code), name)
		case len(pkg.CompiledGoFiles) == 0:
			return nil, fmt.Errorf("package %s has no Go files", pkg.PkgPath)
		default:
			f.name = filepath.Join(filepath.Dir(pkg.CompiledGoFiles[0]), name)
		}
	default:
		if rule == genall.OutputRule(genall.OutputToNothing) {
			return f, nil // nobody keeps it
		}
	}
	if f.name != "" {
		f.name = o.tool.Host.Path(f.name)
	}
	*o.files = append(*o.files, f)
	return f, nil
}

// toolFile is one output; without a name it goes to stdout.
type toolFile struct {
	bytes.Buffer
	name string
}

// Close implements io.Closer.
func (f *toolFile) Close() error { return nil }

func (f *toolFile) write(h host.Host) error {
	data := f.Bytes()
	if bytes.Contains(data, []byte("\nkind: CustomResourceDefinition\n")) {
		data = attribute(data)
	}
	if f.name == "" {
		_, err := h.IO.Out.Write(data)
		return err
	}
	return errors.Join(host.MkdirAll(h.Files, filepath.Dir(f.name), 0o755), h.Files.WriteFile(f.name, data, 0o666))
}

// Levels of help beyond a summary, as often as the flag is given.
const (
	helpDetails = iota + 2
	helpAll
	helpJSON
)

// Markers writes the documentation of the markers that the generators among the
// arguments know, JSON to stdout and text to stderr.
func (c Tool) Markers(args []string, level int) error {
	options, err := optionsRegistry()
	if err != nil {
		return err
	}
	if err := complete(args); err != nil {
		return err
	}
	known, err := genall.RegistryFromOptions(options, args)
	if err != nil {
		return clierr.Failedf(toolHint, "%w", err)
	}
	return c.document(known, level, help.SortByCategory)
}

// Options writes the documentation of the arguments.
func (c Tool) Options(level int) error {
	options, err := optionsRegistry()
	if err != nil {
		return err
	}
	return c.document(options, level, help.SortByOption)
}

func (c Tool) document(r *markers.Registry, level int, by help.SortGroup) error {
	docs := help.ByCategory(r, by)
	if level >= helpJSON {
		return json.NewEncoder(c.Host.IO.Out).Encode(docs)
	}
	var b bytes.Buffer
	for _, d := range docs {
		if d.Category == "" {
			continue
		}
		fmt.Fprintf(&b, "%s\n\n", d.Category)
		for _, m := range d.Markers {
			describe(&b, m, level)
		}
		b.WriteString("\n")
	}
	_, err := c.Host.IO.Err.Write(b.Bytes())
	return err
}

// describe writes what a marker is for, and from helpDetails on its arguments.
func describe(b *bytes.Buffer, m help.MarkerDoc, level int) {
	fmt.Fprintf(b, "  +%-50s %-8s %s\n", m.Name, m.Target, m.Summary)
	if level < helpDetails {
		return
	}
	for _, f := range m.Fields {
		name := f.Name
		if f.Optional {
			name = "[" + name + "]"
		}
		fmt.Fprintf(b, "      %-30s %-10s %s\n", name, f.TypeString(), f.Summary)
	}
	if level >= helpAll && m.Details != "" {
		fmt.Fprintf(b, "      %s\n", strings.ReplaceAll(m.Details, "\n", "\n      "))
	}
}
