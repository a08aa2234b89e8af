// Package adopt looks at an operator's project that another tool may have made
// and says what mysdk can do with it as it is, and what has to be done for the
// rest. It knows the layouts of kubebuilder and operator-sdk and asks the
// engines; it writes nothing and does not know how a command is typed.
package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
)

// Options name the project, and what only the command line knows.
type Options struct {
	Host     host.Host
	Dir      string           // the project's root, absolute
	Generate generate.Options // for the project, with nothing selected
	// CreateAPI and CreateWebhook do in memory what the commands would, for a
	// kind of their own choice, and return why they cannot. pattern is that of
	// the flag, empty for the default.
	CreateAPI     func(pattern string) error
	CreateWebhook func() error
}

// Status says whether a command works with the project.
type Status string

// The values of Status.
const (
	Works Status = "works" // as the project is
	Needs Status = "needs" // after what Do lists
	No    Status = "no"    // mysdk cannot
)

// Command is what one command of mysdk makes of the project.
type Command struct {
	Name   string   `json:"name"`
	Status Status   `json:"status"`
	Detail string   `json:"detail"`
	Do     []string `json:"do,omitempty"` // what is missing, each beginning with file:line where there is one
}

// Change is what can be done to the project safely.
type Change struct {
	File string `json:"file"`
	What string `json:"what"`
}

// ControllerGen is a call of controller-gen.
type ControllerGen struct {
	From string `json:"from"` // file:line
	Dir  string `json:"dir,omitempty"`
	Args string `json:"args"`
}

// Resource is an entry of PROJECT.
type Resource struct {
	Group   string `json:"group"` // as a cluster knows it
	Version string `json:"version"`
	Kind    string `json:"kind"`
	API     bool   `json:"api"` // the project defines the types
}

// Report is what was found.
type Report struct {
	Tool string `json:"tool"` // that made the project, with its version where the project tells
	Project
	// ControllerGen are the calls that generated files come from, where they
	// are not the usual ones; Notes say what of them was left out.
	ControllerGen []ControllerGen `json:"controllerGen,omitempty"`
	Notes         []string        `json:"notes,omitempty"`
	Resources     []Resource      `json:"resources"`
	Commands      []Command       `json:"commands"`
	Changes       []Change        `json:"changes,omitempty"`
}

// Project is what PROJECT says, as any version of any tool writes it.
type Project struct {
	Version    string       `json:"projectVersion" yaml:"version"`
	Layout     project.Keys `json:"layout" yaml:"layout"`
	Name       string       `json:"name,omitempty" yaml:"projectName"`
	Domain     string       `json:"domain,omitempty" yaml:"domain"`
	Repo       string       `json:"repo,omitempty" yaml:"repo"`
	MultiGroup bool         `json:"multigroup" yaml:"multigroup"`
	Namespaced bool         `json:"namespaced" yaml:"namespaced"`

	CLIVersion string         `json:"-" yaml:"cliVersion"`
	Plugins    map[string]any `json:"-" yaml:"plugins"`
}

// inspection is a report in the making.
type inspection struct {
	Options
	ctx     context.Context // of this one run
	tree    *relayout.Tree
	project *project.Project // nil if mysdk cannot read PROJECT
	broken  error            // why
	facts   *facts
	// What generate found out: that it fails, or what it changes.
	failing  bool
	rendered fileset.Set
	safe     fileset.Set // what can be changed safely
	report   *Report
}

// Inspect reports on the project and returns the changes to it that are safe:
// the options of controller-gen, and generated files that are out of date.
// A directory without a PROJECT file is an error.
func Inspect(ctx context.Context, o Options) (*Report, fileset.Set, error) {
	in := &inspection{Options: o, ctx: ctx, tree: relayout.NewTree(relayout.LF{Files: o.Host.Files}, o.Dir), report: &Report{Resources: []Resource{}}}
	if err := in.read(); err != nil {
		return nil, fileset.Set{}, err
	}
	var err error
	if in.facts, err = scan(in.tree); err != nil {
		return nil, fileset.Set{}, err
	}
	for _, check := range in.checks() {
		c, err := in.make(check)
		if err != nil {
			return nil, fileset.Set{}, err
		}
		in.report.Commands = append(in.report.Commands, c)
	}
	strays, err := Strays(in.Host.Files, in.Dir)
	for _, dir := range strays {
		in.report.Notes = append(in.report.Notes, fmt.Sprintf("%s: %s: %s", dir, Stray, StraysHint(dir)))
	}
	return in.report, in.safe, errors.Join(err, ctx.Err())
}

// read takes in PROJECT and go.mod.
func (in *inspection) read() error {
	r := in.report
	data, there, err := in.tree.Read(project.FileName)
	if err != nil || !there {
		return clierr.WithHint(cmp.Or(err, fmt.Errorf("no %s file in %s", project.FileName, in.Dir)),
			"name the root directory of a project of kubebuilder or operator-sdk; 'mysdk init --domain example.com' starts a new one")
	}
	if err := yaml.Unmarshal(data, &r.Project); err != nil {
		_, better := project.Parse(data) // with the line, and what conflict markers are
		return clierr.WithHint(cmp.Or(better, fmt.Errorf("%s: %w", project.FileName, err)), "fix it, or restore it from version control")
	}
	f, err := project.Parse(data)
	if err == nil {
		in.project = f.Project()
	}
	in.broken = err
	if in.project != nil {
		for _, kind := range in.project.Resources {
			r.Resources = append(r.Resources, Resource{kind.QualifiedGroup(), kind.Version, kind.Kind, kind.API})
		}
	}
	if v := r.Version; r.Layout == nil && (v == "2" || v == "1") {
		r.Layout = []string{"go.kubebuilder.io/v" + v}
	}
	return in.origin()
}

// origin finds the tool that made the project.
func (in *inspection) origin() error {
	makefile, _, err := in.tree.Read("Makefile")
	if err != nil {
		return err
	}
	setting := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `\s*[?:]?=\s*(\S+)`).FindSubmatch(makefile)
		if m == nil {
			return ""
		}
		return string(m[1])
	}
	_, sdk := in.report.Plugins["manifests.sdk.operatorframework.io/v2"]
	switch {
	case setting("MYSDK") != "":
		in.report.Tool = "mysdk"
	case setting("OPERATOR_SDK_VERSION") != "":
		in.report.Tool = "operator-sdk " + setting("OPERATOR_SDK_VERSION")
	case sdk:
		in.report.Tool = "operator-sdk"
	default:
		in.report.Tool = strings.TrimSpace("kubebuilder " + in.report.CLIVersion)
	}
	return nil
}

// isGo says whether the project has Go code of its own.
func (in *inspection) isGo() bool {
	_, there, err := in.tree.Read("go.mod")
	return there && err == nil
}
