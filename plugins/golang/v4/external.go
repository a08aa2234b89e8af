package v4

import (
	"fmt"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	lazy "go.podman.io/storage/pkg/regexp"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// external is the API of another project, as flags name it. The zero value is
// none.
type external struct{ externalPath, externalDomain, externalModule string }

func (e *external) bindExternal(flags *pflag.FlagSet) {
	flags.StringVar(&e.externalPath, "external-api-path", "", "Go package of the API of another project")
	flags.StringVar(&e.externalDomain, "external-api-domain", "", "domain of that API's group")
	flags.StringVar(&e.externalModule, "external-api-module", "", "Go module of that package, with @version")
}

// checkExternal refuses what is not a Go package, or not one of the module.
func (e *external) checkExternal() error {
	switch {
	case *e != external{} && e.externalPath == "":
		return usage("add --external-api-path", "the Go package of the external API is not given")
	case e.externalPath != "" && checkRepo(e.externalPath) != nil:
		return usage("use a path such as github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1", "--external-api-path %q is not a Go import path", e.externalPath)
	case e.externalModule != "" && !e.moduleHoldsPath():
		return usage("use a module that the package is in, such as --external-api-module github.com/cert-manager/cert-manager@v1.20.2",
			"--external-api-module %q is not the Go module of %s, with or without a version such as @v1.20.2", e.externalModule, e.externalPath)
	}
	return nil
}

// moduleHoldsPath says whether the external package can be in its module.
func (e *external) moduleHoldsPath() bool {
	module, version, hasVersion := strings.Cut(e.externalModule, "@")
	if checkRepo(module) != nil || hasVersion && !moduleVersion.MatchString(version) {
		return false
	}
	return e.externalPath == module || strings.HasPrefix(e.externalPath, module+"/")
}

// moduleVersion matches versions as go.mod has them.
var moduleVersion = lazy.Delayed(`^v[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)

// requireExternal adds the module to go.mod, and notes what the user has to do.
func (s *creation) requireExternal(disk afero.Fs) error {
	if s.externalPath == "" {
		return nil
	}
	module, version, _ := strings.Cut(s.externalModule, "@")
	return edit(disk, moduleFile, func(text string) (string, error) {
		required, err := s.required(text)
		switch {
		case err != nil:
			return "", err
		case required != "" && semver.Compare(required, version) < 0:
			s.note("Run 'go get %s && go mod tidy' for that version: go.mod requires %s.", s.externalModule, required)
			return text, nil
		case required != "":
			return text, nil
		case version == "":
			s.note("Run 'go get %s && go mod tidy': the project does not build without that package.", or(module, s.externalPath))
			return text, nil
		}
		s.note("Run 'go mod tidy': it downloads %s.", s.externalModule)
		return fmt.Sprintf("%s\n\nrequire %s %s\n", strings.TrimRight(text, "\n"), module, version), nil
	})
}

// required is the version in go.mod of the module that was named, or of one with the
// package where none was; "" if there is none. A module above the one that was named
// need not have the package.
func (e *external) required(text string) (string, error) {
	mod, err := modfile.ParseLax(moduleFile, []byte(text), nil)
	if err != nil {
		return "", fmt.Errorf("looking for the external API's module: %w", err)
	}
	named, _, _ := strings.Cut(e.externalModule, "@")
	for _, r := range mod.Require {
		if r.Mod.Path == named || named == "" && (e.externalPath == r.Mod.Path || strings.HasPrefix(e.externalPath, r.Mod.Path+"/")) {
			return r.Mod.Version, nil
		}
	}
	return "", nil
}
