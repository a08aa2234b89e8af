package generate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// emptyCRD is the name that a CRD without group, plural and versions gets.
const emptyCRD = "_.yaml"

// staleOutputs warns about outputs of earlier runs that nothing in the sources
// accounts for any more, and lists the CRDs among them. They are left where they
// are: kustomizations and people may name them. warnings are those about the sources.
func (w workspace) staleOutputs(rendered, warnings []string) (out, crds []string, err error) {
	for _, j := range w.jobs {
		if name := path.Join(j.config, emptyCRD); j.name == crdName && slices.Contains(rendered, name) {
			out = append(out, name+": no CRD, but what controller-gen makes of a kind all of whose versions have +kubebuilder:skipversion")
		}
		if j.name == crdName {
			out = append(out, unlistedCRDs(w.tree, j.config, rendered)...)
		}
		if !slices.Equal(j.paths, []string{"./..."}) {
			continue // the rest of the project may account for the others
		}
		switch j.name {
		case applyName:
			for _, name := range rendered {
				if path.Base(name) != "utils.go" { // at the top of what is generated of a package
					continue
				}
				stale, err := w.staleFiles(path.Dir(name), true, rendered, func(name string, data []byte) bool {
					return path.Ext(name) == ".go" && path.Base(name) != deepcopyFile && IsApply(data)
				})
				if err != nil {
					return nil, nil, fmt.Errorf("generate: %w", err)
				}
				for _, name := range stale {
					out = append(out, name+": no type in the project generates this apply configuration; remove it")
				}
			}
		case crdName:
			stale, err := w.staleFiles(j.config, false, rendered, func(name string, data []byte) bool {
				return path.Ext(name) == ".yaml" && attribution.Match(data)
			})
			if err != nil {
				return nil, nil, fmt.Errorf("generate: %w", err)
			}
			crds = append(crds, stale...)
			for _, name := range stale {
				out = append(out, name+": no type in the project generates this CRD; remove it and its line in "+path.Join(path.Dir(j.config), "kustomization.yaml"))
			}
		case webhookName:
			name := path.Join(j.config, "manifests.yaml")
			data, err := w.read(name)
			if err == nil && !slices.Contains(rendered, name) && bytes.Contains(data, []byte("WebhookConfiguration")) {
				todo := "no +kubebuilder:webhook marker in the project generates these; remove the file and its line in " + path.Join(j.config, "kustomization.yaml")
				if slices.ContainsFunc(warnings, func(one string) bool {
					return strings.Contains(one, "marker +kubebuilder:webhook has no effect")
				}) {
					todo = "stays as it is, because of the +kubebuilder:webhook markers above that have no effect"
				}
				out = append(out, name+": "+todo)
			}
		}
	}
	return out, crds, nil
}

// unlistedCRDs warns about the CRDs in dir that the kustomization above it leaves
// out, as that of a kind which was renamed by hand.
func unlistedCRDs(t *tree, dir string, rendered []string) (out []string) {
	list := path.Join(path.Dir(dir), "kustomization.yaml")
	text, err := t.read(list)
	if err != nil || t.exists(path.Join(dir, "kustomization.yaml")) {
		return nil // there is none, or it takes the whole directory
	}
	for _, name := range rendered {
		base := path.Base(name)
		if path.Dir(name) == dir && base != emptyCRD && !bytes.Contains(text, []byte(base)) {
			out = append(out, fmt.Sprintf("%s: %s does not list this CRD, and it is not installed; add '- %s/%s' to its resources", name, list, path.Base(dir), base))
		}
	}
	return out
}

// staleFiles are the generated files in a directory, and deep below it, that were not rendered.
func (w workspace) staleFiles(
	dir string, deep bool, rendered []string, generated func(name string, data []byte) bool,
) (out []string, err error) {
	found, err := w.list(dir)
	// A file in the place of the directory is for the commit to refuse.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	for _, e := range found {
		name := path.Join(dir, e.name)
		if e.dir && deep {
			more, below := w.staleFiles(name, deep, rendered, generated)
			out, err = append(out, more...), errors.Join(err, below)
		}
		if e.dir || e.link || slices.Contains(rendered, name) {
			continue
		}
		if data, err := w.read(name); err == nil && generated(name, data) {
			out = append(out, name)
		}
	}
	return out, err
}
