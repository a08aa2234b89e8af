package generate

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"path/filepath"

	lazy "go.podman.io/storage/pkg/regexp"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// ControllerToolsVersion is the release of controller-tools that is linked in.
// It goes into the CRDs, where controller-gen writes its own.
const ControllerToolsVersion = "v0.23.0"

// output collects what a generator writes, in memory. It implements genall.OutputRule.
type output struct {
	tree  *tree
	dir   string // for what belongs to no package, relative to the root
	code  string // for what belongs to a package; empty is beside its sources
	files map[string][]byte
}

// Open implements genall.OutputRule: code goes beside the package's sources,
// everything else to the output's directory.
func (o *output) Open(pkg *loader.Package, name string) (io.WriteCloser, error) {
	dir := o.dir
	switch {
	case pkg != nil && o.code != "":
		dir = o.code
	case pkg != nil:
		if len(pkg.GoFiles) == 0 {
			return nil, fmt.Errorf("package %s has no Go files", pkg.PkgPath)
		}
		var below bool
		if dir, below = o.tree.rel(filepath.Dir(pkg.GoFiles[0])); !below {
			return nil, fmt.Errorf("package %s lies outside the project", pkg.PkgPath)
		}
	}
	return &outputFile{to: o.files, name: path.Join(dir, name)}, nil
}

// outputFile becomes part of the output when it is closed.
type outputFile struct {
	bytes.Buffer
	to   map[string][]byte
	name string
}

// Close implements io.Closer.
func (f *outputFile) Close() error {
	f.to[f.name] = f.Bytes()
	return nil
}

// attribution is the line in which controller-tools names the version of the
// program that it is part of, which here is mysdk's.
var attribution = lazy.Delayed(`(?m)^    controller-gen\.kubebuilder\.io/version: .*$`)

// attribute puts controller-tools' version where a CRD says what made it.
func attribute(crd []byte) []byte {
	at := attribution.FindIndex(crd)
	if at == nil {
		return crd
	}
	line := []byte("    controller-gen.kubebuilder.io/version: " + ControllerToolsVersion)
	return bytes.Join([][]byte{crd[:at[0]], line, crd[at[1]:]}, nil)
}
