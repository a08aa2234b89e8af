package migrate

import (
	"fmt"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// unread is how the go command says that it could not read what a module
// requires: first the requirement of the project that leads there, then the
// module, its version, and why.
var unread = lazy.Delayed(`(\S+) requires\n(?:\s+\S+ requires\n)*\s+([^\s@]+)@(\S+): (.+)`)

// unreadable is how it says so of what the project requires itself, alone or as
// the reason why a package is not found.
var unreadable = lazy.Delayed(`(?m)^(?:go: |\t\S+: )([^\s@]+)@([^\s:]+): `)

// unreachable is why not, where the module may well be there.
var unreachable = lazy.Delayed(`dial tcp|[Tt]imeout|GOPROXY=off|resolve host|could not read|ermission denied`)

// Unresolved lists the packages that 'go mod tidy -e' went on without. Where it
// could not read what a module requires, all others follow from that, and only
// that is listed.
func Unresolved(output string) []string {
	var out []string
	for _, m := range unread.FindAllStringSubmatch(output, -1) {
		out = append(out, fmt.Sprintf("%s@%s (required by %s)", m[2], m[3], m[1]))
	}
	for _, m := range unreadable.FindAllStringSubmatch(output, -1) {
		out = append(out, fmt.Sprintf("%s@%s (required by go.mod)", m[1], m[2]))
	}
	if len(out) > 0 {
		slices.Sort(out)
		return slices.Compact(out)
	}
	importer := ""
	for line := range strings.Lines(output) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "go: ")
		if name, ok := strings.CutSuffix(line, " imports"); ok {
			importer = name
			continue
		}
		pkg, _, ok := strings.Cut(line, ": ")
		if !ok || !strings.Contains(pkg, ".") || !strings.Contains(pkg, "/") || strings.ContainsAny(pkg, " \t") {
			continue
		}
		if text := fmt.Sprintf("%s (imported by %s)", pkg, importer); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// beforeModules are versions of modules of Kubernetes from before they had
// modules, which count as newer than those of today.
var beforeModules = lazy.Delayed(`\b(k8s\.io/[a-z-]+)@v[0-9.]+\+incompatible`)

// Pinned is a go.mod that leaves out what dependencies ask for and no build of
// today can have, by the output of 'go mod tidy': versions of modules of
// Kubernetes from before they had modules are replaced by those that it requires
// itself, and versions that cannot be read are excluded. The notes say so;
// without one there is nothing to change.
func Pinned(gomod []byte, output string) ([]byte, []Note, error) {
	f, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("read go.mod: %w", err)
	}
	var notes []Note
	for _, old := range beforeModules.FindAllStringSubmatch(output, -1) {
		for _, r := range f.Require {
			replaced := slices.ContainsFunc(f.Replace, func(o *modfile.Replace) bool { return o.Old.Path == old[1] })
			if r.Mod.Path != old[1] || replaced {
				continue
			}
			if err := f.AddReplace(old[1], "", old[1], r.Mod.Version); err != nil {
				return nil, nil, fmt.Errorf("replace %s in go.mod: %w", old[1], err)
			}
			notes = append(notes, Note{Text: fmt.Sprintf("go.mod has a replacement of %s by its version %s: a dependency requires %s, which counts as newer.", old[1], r.Mod.Version, old[0])})
		}
	}
	notes = append(notes, exclude(f, output)...)
	if len(notes) == 0 {
		return gomod, nil, nil
	}
	data, err := f.Format()
	return data, notes, err
}

// exclude adds the versions that cannot be read.
func exclude(f *modfile.File, output string) []Note {
	var notes []Note
	for _, m := range unread.FindAllStringSubmatch(output, -1) {
		requirer, gone, why := m[1], module.Version{Path: m[2], Version: m[3]}, m[4]
		excluded := slices.ContainsFunc(f.Exclude, func(x *modfile.Exclude) bool { return x.Mod == gone })
		replaced := slices.ContainsFunc(f.Replace, func(r *modfile.Replace) bool { return r.Old.Path == gone.Path })
		away := unreachable.MatchString(why) && !strings.Contains(why, "unrecognized import path")
		if excluded || replaced || away || f.AddExclude(gone.Path, gone.Version) != nil {
			continue
		}
		notes = append(notes, Note{Text: fmt.Sprintf("go.mod excludes %s, which %s requires and which cannot be read: %s", gone, requirer, why)})
	}
	return notes
}

// Replaced is a go.mod whose replacements by directories have the names that
// turn gives them.
func Replaced(gomod []byte, turn func(dir string) string) ([]byte, error) {
	f, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return nil, fmt.Errorf("read the replacements in go.mod: %w", err)
	}
	changed := false
	for _, r := range slices.Clone(f.Replace) {
		to := turn(r.New.Path)
		if r.New.Version != "" || to == r.New.Path {
			continue
		}
		if err := f.AddReplace(r.Old.Path, r.Old.Version, to, ""); err != nil {
			return nil, fmt.Errorf("replace %s by %s in go.mod: %w", r.Old.Path, to, err)
		}
		changed = true
	}
	if !changed {
		return gomod, nil
	}
	return f.Format()
}
