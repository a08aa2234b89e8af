// Package validate judges bundles: whether they have the registry+v1 format,
// whether OLM can install them, and whether a catalog would take them. It runs
// the rules of operator-framework/api through an Engine, adds those that
// operator-sdk has apart from them and some of its own, and names for each
// finding the place, by file, line and column, and what to do. It does not
// know where a bundle comes from, nor images beyond what a function reports
// them, and it prints nothing.
package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// Platform is what an image runs on, such as linux and amd64.
type Platform struct{ OS, Architecture string }

// Options say what to judge by.
type Options struct {
	Select    Selection         // the optional validators
	Values    map[string]string // for them, such as k8s-version
	Target    string            // one of Targets; empty is none
	Engine    Engine            // runs the rules of operator-framework/api
	Platforms func(ctx context.Context, image string) ([]Platform, error)
	External  []External
	// Replaced are the CRDs of the bundle that this one replaces; with none, nothing is compared.
	Replaced compat.CRDs
	Compare  compat.Engine
}

// External is a validator that is given the bundle in a directory. Its errors count as such.
type External func(ctx context.Context, dir string) ([]Result, error)

// Engine runs the rules of operator-framework/api on a bundle. They are not
// called directly, as their package costs a program its start-up time:
// package engine has them.
type Engine func(context.Context, Request) ([]Result, error)

// Request is what an Engine is asked. It can be written as JSON.
type Request struct {
	Manifests  map[string][]byte // the files of the manifests directory, by name
	Channels   []string
	Default    string   // channel
	Validators []string // names of the optional ones; csv, crd and bundle run always
	Values     map[string]string
	// Constraints are the dependencies of the type olm.constraint.
	Constraints []Constraint
	// CRDs are judged alone, as the API server judges them, in the place of a
	// bundle. Results have their names as the object.
	CRDs map[string][]byte
}

// Constraint is a dependency of the type olm.constraint.
type Constraint struct {
	Field string // where it stands in its file
	Value json.RawMessage
}

// Result is one thing that a rule found.
type Result struct {
	Validator string
	Object    string // name of the object or bundle it is about
	Error     bool   // else a warning
	Type      string
	Field     string // path, in the notation of the rule
	Value     string
	Detail    string
}

// Run judges the bundle in fsys. The error is one of reading it or of the
// engine; what is wrong with the bundle is in the report.
func Run(ctx context.Context, fsys fs.FS, o Options) (*Report, error) {
	b, problems, err := bundle.Read(fsys)
	if err != nil {
		return nil, err
	}
	r := &run{Options: o, bundle: b, report: &Report{Bundle: b.Name()},
		docs: map[string][]*yaml.Node{}, passedOver: map[string]bool{}}
	for _, f := range b.Files {
		r.docs[f.Name], _ = yamledit.Documents(f.Data) // what does not parse is told as a problem
	}
	r.problems(problems)
	r.layout(fsys)
	r.annotations()
	if !r.unreadable {
		r.firstObjects()
		r.objects()
		constraints := r.dependencies()
		if err := r.engine(ctx, constraints); err != nil {
			return nil, err
		}
		if err := r.compatible(ctx); err != nil {
			return nil, err
		}
		r.target()
		if o.Select.has(multiArch) {
			r.multiArch(ctx)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if err := r.external(ctx); err != nil {
		return nil, err
	}
	r.report.finish()
	return r.report, nil
}

// external runs the validators that want the bundle in a directory.
func (r *run) external(ctx context.Context) (err error) {
	if len(r.External) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "mysdk-bundle-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, f := range r.bundle.Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, f.Data, 0o600)); err != nil {
			return err
		}
	}
	for _, validator := range r.External {
		results, err := validator(ctx, dir)
		if err != nil {
			return err
		}
		for _, res := range results {
			r.take(res)
		}
	}
	return nil
}

// run is a Run at work.
type run struct {
	Options
	bundle *bundle.Bundle
	report *Report
	// docs are the YAML documents of each file; empty ones are left out, so that
	// the others are counted as objects are.
	docs map[string][]*yaml.Node
	// dependenciesFile is the one with the constraints that the engine judges.
	dependenciesFile string
	unreadable       bool            // something does not parse: nothing else can be said of it
	passedOver       map[string]bool // files that OLM reads no object from, which is told
}

// add takes a finding in, with the place of what it is about.
func (r *run) add(level Level, rule, file, field, text, hint string) {
	f := Finding{Level: level, Rule: rule, File: file, Field: field, Text: text, Hint: hint}
	f.Line, f.Column = r.locate(file, 0, field)
	r.report.Findings = append(r.report.Findings, f)
}

// problems are what keeps the bundle from being read. They come first, and a
// file that does not parse is told as that, not by what it then lacks.
func (r *run) problems(list []bundle.Problem) {
	inFile := slices.ContainsFunc(list, func(p bundle.Problem) bool { return p.File != "" })
	for _, p := range list {
		r.unreadable = true
		if inFile && p.File == "" {
			continue // what is missing is probably in that file
		}
		f := Finding{Level: Error, Rule: "format/parse", File: p.File, Line: p.Line, Field: p.Field, Text: p.Text, Hint: "correct the file, or " + recreate}
		if p.File == "" || strings.HasPrefix(p.Text, "there ") || strings.HasPrefix(p.Text, "a bundle ") {
			f.Rule = "format/layout"
		}
		if f.Line > 0 {
			f.Column = 1
		} else if p.Field != "" {
			f.Line, f.Column = r.locate(p.File, 0, p.Field)
		}
		r.report.Findings = append(r.report.Findings, f)
	}
}

// engine runs the rules of operator-framework/api and places what they find.
func (r *run) engine(ctx context.Context, constraints []Constraint) error {
	notFirst := slices.ContainsFunc(r.bundle.Objects, func(o bundle.Object) bool {
		return o.Doc > 0 && o.File == r.bundle.CSVFile && o.GetKind() == bundle.CSVKind
	})
	if r.passedOver[r.bundle.CSVFile] || notFirst {
		return nil // the rules begin with the CSV, and why it is not read is told
	}
	req := Request{
		Manifests: map[string][]byte{}, Channels: r.bundle.Channels, Default: r.bundle.DefaultChannel,
		Validators: slices.DeleteFunc(slices.Clone(r.Select.Names), func(n string) bool { return n == multiArch }),
		Values:     r.Values, Constraints: constraints,
	}
	for _, f := range r.bundle.Files {
		if name, ok := strings.CutPrefix(f.Name, r.bundle.ManifestsDir+"/"); ok && !strings.Contains(name, "/") && !r.passedOver[f.Name] {
			req.Manifests[name] = f.Data
		}
	}
	results, err := r.Engine(ctx, req)
	if err != nil {
		return fmt.Errorf("validate the bundle: %w", err)
	}
	for _, res := range results {
		r.take(res)
	}
	return nil
}

// compatible compares the CRDs with those of the bundle that is replaced.
func (r *run) compatible(ctx context.Context) error {
	if len(r.Replaced) == 0 {
		return nil
	}
	objects, now := map[string]bundle.Object{}, compat.CRDs{}
	for _, o := range r.bundle.CRDs() {
		data, err := o.MarshalJSON()
		if err != nil {
			return fmt.Errorf("validate the bundle: %s: %w", o.File, err)
		}
		objects[o.GetName()], now[o.GetName()] = o, data
	}
	changes, err := compat.Compare(ctx, r.Compare, compat.Request{Old: r.Replaced, New: now})
	if err != nil {
		return fmt.Errorf("validate the bundle: %w", err)
	}
	for _, c := range changes {
		o := objects[c.CRD]
		f := Finding{Level: Error, Rule: "compat/" + c.Rule, File: o.File, Field: c.Path, Text: c.Title(), Hint: c.Hint}
		f.Line, f.Column = r.locate(o.File, o.Doc, c.Path)
		r.report.Findings = append(r.report.Findings, f)
	}
	return nil
}

// take turns a result of a rule into a finding.
func (r *run) take(res Result) {
	level := Warning
	if res.Error && (isDefault(res.Validator) || r.Select.Strict) {
		level = Error
	}
	said := explain(res)
	file, doc := r.bundle.CSVFile, 0
	for _, o := range r.bundle.Objects {
		if o.GetName() == res.Object && res.Validator != "bundle" {
			file, doc = o.File, o.Doc
		}
	}
	switch {
	case said.rule == "channels":
		file, said.field = r.bundle.AnnotationsFile, `annotations["`+bundle.ChannelsKey+`"]`
	case res.Validator == "dependencies":
		file = r.dependenciesFile
	case res.Validator == "objects" && file == r.bundle.CSVFile:
		file = "" // the rule does not say which object
	}
	f := Finding{Level: level, Rule: res.Validator + "/" + said.rule, File: file, Field: said.field, Text: said.text, Hint: said.hint}
	f.Line, f.Column = r.locate(file, doc, said.field)
	if l, c := r.find(file, doc, said.field, said.at); said.at != "" && l > 0 {
		f.Line, f.Column = l, c
	}
	r.report.Findings = append(r.report.Findings, f)
}
