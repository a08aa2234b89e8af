package generate

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// versionName is how packages of APIs are called.
var versionName = lazy.Delayed(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// groupless finds kinds in packages that name no group: controller-gen makes
// CRDs of them that no API server takes. A file of that kind which a project of
// other tools has already is one that it lives with.
func (r renderer) groupless(files map[string][]byte) (wrong, tolerated []problem, hint string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		plural, ok := strings.CutPrefix(path.Base(name), "_")
		if !ok || plural == ".yaml" || !bytes.Contains(files[name], []byte("\nkind: CustomResourceDefinition\n")) {
			continue
		}
		kind := kindName.FindSubmatch(files[name])
		for _, p := range r.src.packages {
			if kind == nil || p.marked("+groupName") {
				continue
			}
			spec, file := p.typeNamed(string(kind[1]))
			if spec == nil {
				continue
			}
			at := newProblem(r.tree, r.src.fset.Position(spec.Name.Pos()), fmt.Sprintf("kind %s belongs to no API group: its package lacks the marker +groupName", kind[1]))
			if !versionName.MatchString(file.ast.Name.Name) || r.Lax || r.Foreign && r.exists(name) {
				at.msg += fmt.Sprintf(", and no API server takes %s", name)
				tolerated = append(tolerated, at)
				continue
			}
			wrong, hint = append(wrong, at), fmt.Sprintf("add '// +groupName=GROUP', with the API group, above 'package' in %s", file.name)
		}
	}
	return wrong, tolerated, hint
}

var kindName = lazy.Delayed(`(?m)^    kind: (\w+)$`)
