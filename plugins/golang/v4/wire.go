package v4

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/afero"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
)

// Files that an API or a controller is wired into.
const (
	mainPath      = "cmd/main.go"
	moduleFile    = "go.mod"
	crdPath       = "config/crd/kustomization.yaml"
	samplesPath   = "config/samples/kustomization.yaml"
	rbacPath      = "config/rbac/kustomization.yaml"
	defaultPath   = "config/default/kustomization.yaml"
	manifestsPath = "config/manifests/kustomization.yaml"
)

// edit is the new content of a file that exists, or that a template is about
// to make.
type edit struct {
	path    string
	content []byte
}

func (e edit) apply(disk afero.Fs) error {
	if err := afero.WriteFile(disk, e.path, e.content, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", e.path, err)
	}
	return nil
}

// wiring works out every edit before the first is applied, so that a marker
// that is gone stops the scaffold while nothing is written.
func (s *createAPISubcommand) wiring(disk machinery.Filesystem, d data) ([]edit, error) {
	var out []edit
	change := func(name string, how func(string) (string, error)) error {
		text, err := s.current(disk.FS, name)
		if err != nil {
			return err
		}
		changed, err := how(text)
		if err != nil {
			return err
		}
		out = append(out, edit{name, []byte(changed)})
		return nil
	}

	if err := change(mainPath, func(text string) (string, error) { return wireMain(text, s.mainWiring(d)) }); err != nil {
		return nil, err
	}
	if s.externalPath != "" {
		if err := change(moduleFile, s.requireExternal); err != nil {
			return nil, err
		}
	}
	if !s.doResource {
		return out, nil
	}
	for name, how := range s.kustomizations(d) {
		err := change(name, how)
		if errors.Is(err, fs.ErrNotExist) {
			s.notes = append(s.notes, name+" is not there: nothing was added to it.")
		} else if err != nil {
			return nil, err
		}
	}
	stored, err := s.markStorageVersion(disk.FS)
	return append(out, stored...), err
}

// current returns a file as it will be once the templates are written: its
// content on disk, or else that of the template which makes it.
func (s *createAPISubcommand) current(disk afero.Fs, name string) (string, error) {
	text, err := afero.ReadFile(disk, name)
	if errors.Is(err, fs.ErrNotExist) && s.doResource {
		if text, err := templates.ReadFile("templates/api/" + name + ".tmpl"); err == nil {
			return string(text), nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return string(text), nil
}

// kustomizations returns the edits that show the API to kustomize.
func (s *createAPISubcommand) kustomizations(d data) map[string]func(string) (string, error) {
	kind := strings.ToLower(d.Resource.Kind)
	if s.byGroup() {
		kind = d.Resource.Group + "_" + kind
	}
	crd := fmt.Sprintf("- bases/%s_%s.yaml", d.Resource.QualifiedGroup(), d.Resource.Plural)
	return map[string]func(string) (string, error){
		crdPath: func(text string) (string, error) {
			return insertInYAML(crdPath, text, "crdkustomizeresource", crd)
		},
		samplesPath: func(text string) (string, error) {
			return insertInYAML(samplesPath, text, "manifestskustomizesamples", "- "+d.SampleFile)
		},
		rbacPath: func(text string) (string, error) {
			return appendResources(rbacPath, text, kind+"_admin_role.yaml", kind+"_editor_role.yaml", kind+"_viewer_role.yaml")
		},
		defaultPath:   func(text string) (string, error) { return uncommentResource(defaultPath, text, "../crd") },
		manifestsPath: func(text string) (string, error) { return uncommentResource(manifestsPath, text, "../samples") },
	}
}

// requireExternal adds the module of an external API to go.mod.
func (s *createAPISubcommand) requireExternal(text string) (string, error) {
	module, version, _ := strings.Cut(s.externalModule, "@")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if required, _, ok := strings.Cut(line, " "); ok && required != "" &&
			(s.externalPath == required || strings.HasPrefix(s.externalPath, required+"/")) {
			return text, nil // there is a module with that package
		}
	}
	if version == "" {
		s.notes = append(s.notes, fmt.Sprintf("Run 'go get %s && go mod tidy': the project does not build without that package.", or(module, s.externalPath)))
		return text, nil
	}
	s.notes = append(s.notes, fmt.Sprintf("Run 'go mod tidy': it downloads %s.", s.externalModule))
	return fmt.Sprintf("%s\n\nrequire %s %s\n", strings.TrimRight(text, "\n"), module, version), nil
}
