package generate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"syscall"
)

// emptyCRD is the name that a CRD without group, plural and versions gets.
const emptyCRD = crdDir + "/_.yaml"

// staleOutputs warns about outputs of earlier runs that nothing in the sources
// accounts for any more. They are left where they are: kustomizations and
// people may name them.
func staleOutputs(o Options, t *tree, rendered []string) ([]string, error) {
	var out []string
	if slices.Contains(rendered, emptyCRD) {
		out = append(out, emptyCRD+": no CRD, but what controller-gen makes of a kind all of whose versions have +kubebuilder:skipversion")
	}
	if !slices.Equal(o.Paths, []string{"./..."}) {
		return out, nil // the rest of the project may account for the others
	}
	if o.CRDs {
		found, err := t.list(crdDir)
		// A file in the place of the directory is for the commit to refuse.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, fmt.Errorf("generate: %w", err)
		}
		for _, e := range found {
			name := path.Join(crdDir, e.name)
			if e.dir || path.Ext(name) != ".yaml" || slices.Contains(rendered, name) {
				continue
			}
			if data, err := t.read(name); err == nil && attribution.Match(data) {
				out = append(out, name+": no type in the project makes this CRD; remove it and its line in config/crd/kustomization.yaml")
			}
		}
	}
	if name := path.Join(webhookDir, "manifests.yaml"); o.Webhooks && !slices.Contains(rendered, name) {
		if data, err := t.read(name); err == nil && bytes.Contains(data, []byte("WebhookConfiguration")) {
			out = append(out, name+": no +kubebuilder:webhook marker in the project makes these; remove the file and its line in config/webhook/kustomization.yaml")
		}
	}
	return out, nil
}
