package openapi

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/imports"
	"k8s.io/gengo/v2"
	"k8s.io/gengo/v2/generator"
	"k8s.io/gengo/v2/parser"
	"k8s.io/gengo/v2/types"
	"k8s.io/kube-openapi/cmd/openapi-gen/args"
	"k8s.io/kube-openapi/pkg/generators"
)

// Markers of openapi-gen.
const (
	tagName  = "k8s:openapi-gen"
	tagTrue  = "+" + tagName + "=true"
	modelTag = "k8s:openapi-model-package"
)

// violationType is the type of the file in which openapi-gen collects what breaks API conventions.
const violationType = "api-violation"

// execute runs the generators over the packages in dirs and returns the files
// by their names, relative to the root. The generators are made for programs
// of their own and may panic on code that they do not expect.
func execute(ctx context.Context, o Options, dirs []string, header []byte) (files map[string][]byte, violations []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("openapi-gen cannot read the types: %v", p)
		}
	}()
	c, byPath, err := loadTypes(ctx, o, dirs)
	if err != nil {
		return nil, nil, err
	}
	files = map[string][]byte{}
	found := func(f *generator.File) error {
		for line := range strings.Lines(f.Body.String()) {
			violations = append(violations, strings.TrimSpace(line))
		}
		return nil
	}
	for _, pkg := range c.Inputs {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		dir, ok := byPath[pkg]
		if !ok {
			continue
		}
		if err := checkTags(c.Universe[pkg]); err != nil {
			return nil, nil, err
		}
		code := func(f *generator.File) (err error) {
			name := path.Join(dir, f.Name)
			files[name], err = assemble(name, f)
			return err
		}
		if err := renderPackage(c, pkg, o.abs(dir), header, code, found); err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(violations)
	return files, slices.Compact(violations), nil
}

// loadTypes loads the packages in dirs with all that they refer to. Generated
// code is left out by its build tag, as it may be older than the types.
func loadTypes(ctx context.Context, o Options, dirs []string) (*generator.Context, map[string]string, error) {
	p := parser.NewWithOptions(parser.Options{BuildTags: []string{gengo.StdBuildTag}})
	// Of the ways to load packages only this one takes a directory: the others
	// look around in that of the process.
	cfg := &packages.Config{Context: ctx, Dir: o.Dir, Env: o.Host.Environ()}
	patterns, modules := make([]string, len(dirs)), o.ownModules() // in which the go command finds no directories
	for i, dir := range dirs {
		patterns[i] = "./" + dir
		for _, own := range slices.Sorted(maps.Keys(modules)) { // one within another comes later
			if rel, ok := strings.CutPrefix(dir+"/", own+"/"); ok {
				patterns[i] = path.Join(modules[own], rel)
			}
		}
	}
	if err := p.LoadPackagesWithConfigForTesting(cfg, patterns...); err != nil {
		return nil, nil, fmt.Errorf("load the packages: %w", err)
	}
	c, err := generator.NewContext(p, generators.NameSystems(), generators.DefaultNameSystem())
	if err != nil {
		return nil, nil, fmt.Errorf("read the types: %w", err)
	}
	byPath := map[string]string{}
	for _, input := range c.Inputs {
		for _, dir := range dirs {
			if c.Universe[input].Dir == o.abs(dir) {
				byPath[input] = dir
			}
		}
	}
	if len(byPath) != len(dirs) {
		return nil, nil, fmt.Errorf("the go command finds %d of the %d API packages", len(byPath), len(dirs))
	}
	return c, byPath, nil
}

// checkTags refuses markers at which the generators would end the process.
func checkTags(pkg *types.Package) error {
	check := func(what string, comments []string) error {
		if _, err := gengo.ExtractFunctionStyleCommentTags("+", []string{modelTag}, comments); err != nil {
			return fmt.Errorf("%s: marker +%s: %w", what, modelTag, err)
		}
		return nil
	}
	if err := check("package "+pkg.Path, pkg.Comments); err != nil {
		return err
	}
	for _, t := range pkg.Types {
		if err := check("type "+t.Name.String(), t.CommentLines); err != nil {
			return err
		}
	}
	return nil
}

// renderPackage renders the definitions of one package, and what breaks conventions in it.
func renderPackage(c *generator.Context, pkg, abs string, header []byte, code, violations fileType) error {
	p := c.Universe[pkg]
	one := func(t *types.Type) bool { return tagged(t.CommentLines) }
	if !tagged(p.Comments) && !slices.ContainsFunc(slices.Collect(maps.Values(p.Types)), one) {
		// Projects of today say +groupName; openapi-gen wants its own marker.
		p.Comments = append(p.Comments, tagTrue)
	}
	a := args.New()
	a.OutputPkg, a.OutputDir, a.OutputFile = pkg, abs, FileName
	targets := generators.GetOpenAPITargets(c, a, header) // sets a file type of its own
	c.FileTypes[generator.GoFileType], c.FileTypes[violationType] = code, violations
	for _, t := range targets {
		// Without this the definitions of every package are in every file.
		if err := c.ExecuteTarget(&oneOf{t, pkg, p.Name}); err != nil {
			return fmt.Errorf("package %s: %w", pkg, err)
		}
	}
	return nil
}

// tagged reports whether comments ask for definitions, as kube-openapi's own generators read them.
func tagged(comments []string) bool {
	//lint:ignore SA1019 the generators use it, and what it finds has to agree
	return slices.Contains(gengo.ExtractCommentTags("+", comments)[tagName], "true")
}

// oneOf is a target without the types of other packages.
type oneOf struct {
	generator.Target
	pkg, name string
}

// Name implements generator.Target: the package clause, which the target of
// openapi-gen takes from the directory.
func (t *oneOf) Name() string { return t.name }

// Filter implements generator.Target.
func (t *oneOf) Filter(c *generator.Context, typ *types.Type) bool {
	return typ.Name.Package == t.pkg && t.Target.Filter(c, typ)
}

// fileType takes a file that the generators would write.
type fileType func(*generator.File) error

// AssembleFile implements generator.FileType.
func (t fileType) AssembleFile(f *generator.File, _ string) error { return t(f) }

// assemble is the text of a file of Go code.
func assemble(name string, f *generator.File) ([]byte, error) {
	var b bytes.Buffer
	generator.NewGoFile().Assemble(&b, f)
	src, err := imports.Process(name, b.Bytes(), &imports.Options{Comments: true, TabIndent: true, TabWidth: 8, FormatOnly: true})
	if err != nil {
		return nil, fmt.Errorf("the code for %s is not Go: %w", name, err)
	}
	return src, nil
}
