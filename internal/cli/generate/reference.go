package generate

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/cli"
	bundlecmd "github.com/example/mysdk/internal/cli/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/registry"
)

// newestTag is the value of --check-compat alone. With its space it names nothing else.
const newestTag = "newest tag"

// otherReference is the hint where git does not help.
const otherReference = "name a directory or a bundle, as in --check-compat=./bundle"

// reference finds the CRDs that those of the project are compared with.
type reference struct {
	*cli.Factory
	dirs []string // that the project has its CRDs in
}

// find returns the CRDs, and what to call the reference: a directory, an archive
// or an image that there is, else what git knows by the name.
func (r reference) find(ctx context.Context, arg string) (string, compat.CRDs, error) {
	if arg == newestTag {
		return r.newest(ctx)
	}
	at := arg
	if !filepath.IsAbs(arg) {
		at = filepath.Join(r.Inside, arg)
	}
	if _, err := r.Host.Files.Lstat(r.Host.Path(at)); err == nil {
		crds, err := bundlecmd.ReadCRDs(ctx, r.Factory, at, registry.Access{})
		return arg, crds, err
	}
	if strings.HasPrefix(arg, ".") || filepath.IsAbs(arg) {
		return "", nil, clierr.Usagef("name a directory with CRDs or a bundle, or a git reference such as a tag", "--check-compat: there is no %s", arg)
	}
	commit, said, err := r.commit(ctx, arg)
	switch {
	case ctx.Err() != nil:
		return "", nil, ctx.Err()
	case err == nil:
		crds, err := r.tree(ctx, arg, commit)
		return arg, crds, err
	case image.IsExplicit(arg):
		crds, err := bundlecmd.ReadCRDs(ctx, r.Factory, arg, registry.Access{})
		return arg, crds, err
	}
	hint := "see 'git tag' for the releases; a bundle's image needs its tag, as in example.com/shop-bundle:v0.1.0"
	if said = firstLine(said); said != "" && !strings.Contains(said, "Needed a single revision") && !strings.Contains(said, "unknown revision") {
		return "", nil, clierr.Usagef(otherReference, "--check-compat: git cannot read %s: %s", arg, said)
	}
	return "", nil, clierr.Usagef(hint, "--check-compat: %s is not a git reference, directory or image", arg)
}

// newest is the newest tag that can be reached from HEAD, else HEAD.
func (r reference) newest(ctx context.Context) (string, compat.CRDs, error) {
	head, said, err := r.commit(ctx, "HEAD")
	switch {
	case ctx.Err() != nil:
		return "", nil, ctx.Err()
	case err != nil && strings.Contains(said, "not a git repository"):
		return "", nil, clierr.Failedf(otherReference, "--check-compat: %s is not in a git repository", r.Host.Dir)
	case err != nil && strings.Contains(said, "Needed a single revision"):
		return "", nil, clierr.Failedf("commit the project first, or "+otherReference, "--check-compat: git has no commit to compare with")
	case err != nil:
		return "", nil, clierr.Failedf(otherReference, "--check-compat: git cannot say what to compare with: %s", cmp.Or(firstLine(said), err.Error()))
	}
	name := "HEAD"
	if out, _, err := r.Git(ctx, nil, "describe", "--tags", "--abbrev=0"); err == nil {
		name = strings.TrimSpace(out)
		if head, said, err = r.commit(ctx, name); err != nil {
			return "", nil, clierr.Failedf(otherReference, "--check-compat: git cannot read %s: %s", name, firstLine(said))
		}
	} else if out, _, err := r.Git(ctx, nil, "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(out) == "true" {
		r.Warn("this clone has no tags and is shallow: changes that are committed are not seen; fetch the tags, or name a reference")
	}
	crds, err := r.tree(ctx, name, head)
	return name, crds, err
}

func (r reference) commit(ctx context.Context, ref string) (commit, said string, err error) {
	out, said, err := r.Git(ctx, nil, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	return strings.TrimSpace(out), said, err
}

// tree reads the CRDs of a commit: those where the project has its CRDs now,
// else where projects of kubebuilder or operator-sdk have them.
func (r reference) tree(ctx context.Context, name, commit string) (compat.CRDs, error) {
	for _, dirs := range [][]string{r.dirs, {"config/crd/bases"}, {"deploy/crds"}} {
		crds := compat.CRDs{}
		for _, dir := range dirs {
			more, err := r.below(ctx, commit, dir)
			if err != nil {
				return nil, fmt.Errorf("--check-compat: read %s: %w", name, err)
			}
			maps.Copy(more, crds) // the first has precedence here, too
			crds = more
		}
		if len(crds) > 0 {
			return crds, nil
		}
	}
	return nil, clierr.Usagef(otherReference, "--check-compat: %s has no CRDs in %s", name, strings.Join(r.dirs, ", "))
}

// below reads the CRDs that a commit has in a directory, not in those below it.
func (r reference) below(ctx context.Context, commit, dir string) (compat.CRDs, error) {
	list, said, err := r.Git(ctx, nil, "ls-tree", "-z", commit, "--", dir+"/") // without the slash it is the directory's own entry
	if err != nil {
		return nil, fmt.Errorf("git ls-tree: %w: %s", err, firstLine(said))
	}
	var names []string
	var ids strings.Builder
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		about, name, _ := strings.Cut(entry, "\t") // MODE TYPE ID
		if words := strings.Fields(about); len(words) == 3 && words[1] == "blob" && compat.IsManifest(name) {
			names = append(names, name)
			ids.WriteString(words[2] + "\n")
		}
	}
	found := compat.CRDs{}
	if len(names) == 0 {
		return found, nil
	}
	blobs, said, err := r.Git(ctx, strings.NewReader(ids.String()), "cat-file", "--batch")
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w: %s", err, firstLine(said))
	}
	in := bufio.NewReader(strings.NewReader(blobs))
	for _, name := range names {
		var id, kind string
		var size int
		if _, err := fmt.Fscanf(in, "%s %s %d\n", &id, &kind, &size); err != nil {
			return nil, fmt.Errorf("git cat-file: %s: %w", name, err)
		}
		data := make([]byte, size+1) // with the line's end behind it
		if _, err := io.ReadFull(in, data); err != nil {
			return nil, fmt.Errorf("git cat-file: %s: %w", name, err)
		}
		if err := found.Add(name, data[:size]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// firstLine is that of what git said, without its "fatal: ".
func firstLine(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return strings.TrimPrefix(line, "fatal: ")
}
