package scorecard

import (
	"fmt"
	"path"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
)

// configDirAnnotation names the directory of the configuration in a bundle.
const configDirAnnotation = "operators.operatorframework.io.test.config.v1"

// NewSubject takes of a bundle what its tests look at. CRDs of v1beta1, which
// no supported cluster serves, are an error.
func NewSubject(b *bundle.Bundle, validate func() (problems, warnings []string)) (Subject, error) {
	s := Subject{CSV: b.CSV, Files: map[string][]byte{}, Validate: validate}
	for _, f := range b.Files {
		s.Files[f.Name] = f.Data
	}
	for _, o := range b.CRDs() {
		if o.GetAPIVersion() != apiextensionsv1.SchemeGroupVersion.String() {
			return s, clierr.Failedf("run 'mysdk migrate' or 'mysdk generate' to make it apiextensions.k8s.io/v1", "%s: CRD %s is of %s, which clusters no longer serve", o.File, o.GetName(), o.GetAPIVersion())
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, crd); err != nil {
			return s, fmt.Errorf("%s: read CRD %s: %w", o.File, o.GetName(), err)
		}
		s.CRDs = append(s.CRDs, crd)
	}
	return s, nil
}

// ConfigOf returns the configuration of a bundle and its name for errors.
func ConfigOf(b *bundle.Bundle) (data []byte, name string, err error) {
	name = ConfigPath
	if dir := b.Annotations[configDirAnnotation]; dir != "" {
		name = path.Join(dir, path.Base(ConfigPath))
	}
	f, ok := b.File(name)
	if !ok {
		return nil, name, clierr.Failedf("name one with --config, or recreate the bundle with 'mysdk bundle generate': it brings config/scorecard along",
			"the bundle has no scorecard configuration %s", name)
	}
	return f.Data, name, nil
}
