package localrun

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/localrun/trace"
)

// overlay writes the files that make the operator report, and returns the flag
// of the go command for them; none where nothing is recorded.
func (b *build) overlay() ([]string, error) {
	r := b.r
	if !r.Trace {
		return nil, nil
	}
	dir := filepath.Join(r.plan.cache, "overlay")
	// The operator reads this one as long as it runs, beside those of other runs.
	pod := trace.Pod{Namespace: r.podNamespace(), NamespaceFile: filepath.Join(dir, "namespace-"+r.podNamespace())}
	files, err := trace.Overlay(r.Host.Files, r.Dir, r.plan.mainPkg, pod, r.Groups)
	if err != nil {
		return nil, err
	}
	if err := host.MkdirAll(r.Host.Files, dir, 0o700); err != nil {
		return nil, err
	}
	if err := host.ReplaceData(r.Host.Files, pod.NamespaceFile, []byte(pod.Namespace), 0o600); err != nil {
		return nil, err
	}
	replace, names := map[string]string{}, []string{}
	for name, data := range files {
		file := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := r.Host.Files.WriteFile(file, data, 0o600); err != nil {
			return nil, err
		}
		replace[name] = file
		// The compiler names the file that it reads, by whichever path is shorter.
		own := relativeTo(r.Dir, name) + ":"
		names = append(names, file+":", own, relativeTo(r.Dir, file)+":", own)
	}
	b.out.rename(strings.NewReplacer(names...))
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "overlay.json")
	return []string{"-overlay=" + name}, r.Host.Files.WriteFile(name, list, 0o600)
}

// relativeTo is a path as seen from dir, where there is a way.
func relativeTo(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil {
		return rel
	}
	return name
}
