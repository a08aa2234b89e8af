package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// gather finds the objects that the bundle is made from: in the directories
// that were named, else in a pipe, else in the project.
func (j *bundleJob) gather(ctx context.Context, in *bundle.Input) (err error) {
	if dir := j.inputDir + j.deployDir; dir != "" {
		if in.Objects, err = manifestsBelow(j.f, dir); err != nil {
			return err
		}
		if j.crdsDir != "" {
			if in.Objects, err = j.withCRDs(in.Objects); err != nil {
				return err
			}
		}
		return j.useBase(in)
	}
	data, err := piped(ctx, j.f)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) > 0 {
		if in.Objects, err = bundle.Parse(data, "stdin"); err != nil {
			return err
		}
		return j.useBase(in)
	}
	if j.project == nil {
		return clierr.Usagef("add --input-dir with the operator's manifests, or run the command in a project", "there is nothing to make a bundle from: no PROJECT file in %s", j.f.Host.Dir)
	}
	return j.fromProject(ctx, in)
}

// withCRDs takes the CRDs of --crds-dir for those of --deploy-dir.
func (j *bundleJob) withCRDs(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	crds, err := manifestsBelow(j.f, j.crdsDir)
	if err != nil {
		return nil, err
	}
	for _, u := range kube.Without(crds, objects) {
		if !bundle.IsCRD(u) {
			j.f.Warn("%s: %s %s is no CRD and is left out; --deploy-dir is for the others", j.crdsDir, u.GetKind(), u.GetName())
		}
	}
	crds = slices.DeleteFunc(crds, func(u *unstructured.Unstructured) bool { return !bundle.IsCRD(u) })
	return append(slices.DeleteFunc(objects, bundle.IsCRD), crds...), nil
}

// useBase takes the base from --kustomize-dir where manifests from elsewhere have
// none. Nothing in them stands for the image of --image.
func (j *bundleJob) useBase(in *bundle.Input) error {
	if j.f.Given["image"] {
		return clierr.Usagef("set the image in the manifests", "--image is for the project's own manifests")
	}
	if slices.ContainsFunc(in.Objects, bundle.IsCSV) {
		return nil
	}
	file := bundle.BaseFile(j.kustomizeDir, j.pkg)
	data, err := j.f.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		j.note("There is no %s: the bundle's descriptions are placeholders", file)
		return nil
	}
	if err != nil {
		return err
	}
	in.BaseName = file
	in.Base, err = bundle.ParseBase(data, file)
	return err
}

// fromProject builds the kustomization of the project, with everything that
// generators make of the Go types as they are now. Operators of Helm charts and
// Ansible playbooks have none.
func (j *bundleJob) fromProject(ctx context.Context, in *bundle.Input) error {
	src := kustomize.Source{Dir: j.f.Host.Dir, Files: j.f.Host.Files}
	if j.project.Repo != "" || j.has("go.mod") {
		opts, err := j.f.GenerateOptions()
		if err != nil {
			return err
		}
		r, err := j.f.Render(ctx, opts)
		if err != nil {
			return err
		}
		src.Overlay = r.Set
	}
	set, m, err := baseOf(j.f, j.project, &kustomizeManifestsOptions{packageName: j.pkg, inputDir: j.kustomizeDir, outputDir: j.kustomizeDir})
	if err != nil {
		return err
	}
	in.BaseName, in.Described = bundle.BaseFile(j.kustomizeDir, j.pkg), m.Described
	hasBase, hasList := j.has(in.BaseName), src.Has(j.kustomizeDir)
	// Without a base the kustomization stays as it is: it may have a
	// ClusterServiceVersion under another name, which then is the user's. One that
	// lists the base already does not build without it.
	edited := slices.ContainsFunc(set.Paths(), func(name string) bool { return path.Dir(name) == j.kustomizeDir })
	usersOwn := hasList && edited
	if hasBase || !usersOwn {
		if err := src.Overlay.Merge(set); err != nil {
			return err
		}
	}
	if j.image != "" {
		if src, err = cli.SetImage(src, j.image); err != nil {
			return err
		}
	}
	data, err := kustomize.Build(ctx, src, j.kustomizeDir)
	if err != nil {
		return err
	}
	if in.Objects, err = bundle.Parse(data, j.kustomizeDir); err != nil {
		return err
	}
	if err := cli.Placed(j.image, j.kustomizeDir, in.Objects); err != nil || hasBase {
		return err
	}
	if usersOwn && slices.ContainsFunc(in.Objects, bundle.IsCSV) {
		in.BaseName, in.Described = j.kustomizeDir, nil
		return nil
	}
	j.note("There is no %s: the bundle's descriptions are placeholders; 'mysdk generate kustomize manifests' writes it", in.BaseName)
	in.Base, in.BaseName = m.Base, "default"
	return nil
}

func (j *bundleJob) has(name string) bool {
	_, err := j.f.ReadFile(name)
	return err == nil
}

// manifestsBelow reads the objects of all YAML and JSON files below a
// directory. Hidden directories and files of other kinds, such as the values of a
// chart, are passed over.
func manifestsBelow(f *cli.Factory, dir string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	var wrong []error
	err := fs.WalkDir(os.DirFS(f.Host.Path(dir)), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !compat.IsManifest(name) || slices.Contains(kustomize.FileNames(), path.Base(name)) {
			return nil
		}
		file := path.Join(dir, name)
		data, err := f.ReadFile(file)
		if err != nil {
			return err
		}
		if !hasObject(data) {
			f.Warn("%s has no Kubernetes object and is skipped", file)
			return nil
		}
		objects, err := bundle.Parse(data, file)
		all, wrong = append(all, objects...), append(wrong, err)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, clierr.Usagef("name the directory with the operator's manifests", "there is no directory %s", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifests in %s: %w", dir, err)
	}
	return all, clierr.WithHint(errors.Join(wrong...), "correct the files and run the command again")
}

// hasObject reports whether a file has a document that could be a Kubernetes
// object, unlike those that kustomize reads itself, or does not parse, which is then reported.
func hasObject(data []byte) bool {
	docs, err := yamledit.Documents(data)
	return err != nil || slices.ContainsFunc(docs, func(doc *yaml.Node) bool {
		version := yamledit.Value(doc.Content[0], "apiVersion")
		return version != nil && !strings.HasPrefix(version.Value, "kustomize.config.k8s.io/") && yamledit.Value(doc.Content[0], "kind") != nil
	})
}

// pipeTimeout is how long a pipe may stay silent before it is said what is waited for.
const pipeTimeout = 2 * time.Second

// piped reads what is piped into the command, nothing where stdin is a terminal or does not exist.
func piped(ctx context.Context, f *cli.Factory) ([]byte, error) {
	if file, ok := f.Host.IO.In.(*os.File); ok {
		info, err := file.Stat()
		if err != nil {
			return nil, nil //nolint:nilerr // a stdin that is closed has nothing
		}
		if pipe := info.Mode()&fs.ModeNamedPipe != 0; !pipe && (!info.Mode().IsRegular() || info.Size() == 0) {
			return nil, nil
		}
	}
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() { // ends with the process where nobody closes the pipe
		data, err := io.ReadAll(f.Host.IO.In)
		done <- read{data, err}
	}()
	for waiting := time.After(pipeTimeout); ; {
		select {
		case r := <-done:
			if r.err != nil {
				return nil, fmt.Errorf("read stdin: %w", r.err)
			}
			return r.data, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-waiting:
			f.Say("Waiting for manifests on stdin; add '</dev/null' if there are none")
		}
	}
}

// pin finds the digests of the images: those in the lock file, and of the rest
// what the registries say. The lock file is renewed with the bundle.
func (j *bundleJob) pin(ctx context.Context, in *bundle.Input) error {
	if !j.useImageDigests {
		return nil
	}
	file := path.Join(j.kustomizeDir, bundle.LockName)
	var known map[string]string
	data, err := j.f.ReadFile(file)
	if err == nil {
		known, err = bundle.ReadLock(data, file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	objects := in.Objects
	if in.Base != nil {
		objects = append(slices.Clone(objects), in.Base)
	}
	digests := map[string]string{}
	var missing []string
	for _, ref := range bundle.Images(objects) {
		if digests[ref] = known[ref]; digests[ref] == "" {
			missing = append(missing, ref)
		}
	}
	if len(missing) > 0 {
		j.f.Say("Finding the digests of %s", strings.Join(missing, ", "))
		found, err := image.Digests(ctx, missing, j.useHTTP)
		if err != nil {
			return err
		}
		maps.Copy(digests, found)
	}
	if data, err = bundle.WriteLock(digests); err != nil {
		return err
	}
	in.Digests = map[string]string{}
	for ref, digest := range digests {
		in.Digests[ref] = image.PinnedRef(ref, digest)
	}
	return j.set.Put(file, fileset.File{Data: data})
}
