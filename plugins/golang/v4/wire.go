package v4

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/afero"
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

// wire edits the files that an API or a controller is wired into.
func (s *createAPISubcommand) wire(disk afero.Fs, d data) error {
	err := edit(disk, mainPath, func(text string) (string, error) { return wireMain(text, s.mainWiring(d)) })
	if err != nil {
		return err
	}
	if err := s.requireExternal(disk); err != nil || !s.doResource {
		return err
	}
	// kubebuilder's projects have no bundle
	if err := s.editAll(disk, s.kustomizations(d), manifestsPath); err != nil || d.StorageVersion {
		return err
	}
	return s.markStorageVersion(disk)
}

// edit changes a file that exists, and writes it in LF: who puts it on disk knows how
// the lines of the file there end.
func edit(disk afero.Fs, name string, change func(text string) (string, error)) error {
	data, err := afero.ReadFile(disk, name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	changed, err := change(text)
	if err != nil || changed == text {
		return err
	}
	return writeFile(disk, name, changed)
}

// editAll changes files, and notes those that are not there, but for the optional one.
func (s *creation) editAll(disk afero.Fs, changes map[string]func(string) (string, error), optional string) error {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		switch err := edit(disk, name, changes[name]); {
		case errors.Is(err, fs.ErrNotExist) && name == optional:
		case errors.Is(err, fs.ErrNotExist):
			s.note("%s does not exist: nothing was added to it.", name)
		case err != nil:
			return err
		}
	}
	return nil
}

// kustomizations returns the edits that show the API to kustomize.
func (s *createAPISubcommand) kustomizations(d data) map[string]func(string) (string, error) {
	kind := s.groupPrefix() + strings.ToLower(d.Resource.Kind)
	crd := fmt.Sprintf("bases/%s_%s.yaml", d.Resource.QualifiedGroup(), d.Resource.Plural)
	return map[string]func(string) (string, error){
		crdPath: func(text string) (string, error) {
			return insertAtMarker(crdPath, text, "crdkustomizeresource", crd)
		},
		samplesPath: func(text string) (string, error) {
			return insertAtMarker(samplesPath, text, "manifestskustomizesamples", d.SampleFile)
		},
		rbacPath: func(text string) (string, error) {
			return appendResources(rbacPath, text, kind+"_admin_role.yaml", kind+"_editor_role.yaml", kind+"_viewer_role.yaml")
		},
		defaultPath:   func(text string) (string, error) { return uncommentResource(defaultPath, text, "../crd") },
		manifestsPath: func(text string) (string, error) { return uncommentResource(manifestsPath, text, "../samples") },
	}
}
