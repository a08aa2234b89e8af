// Package hostprogram gives an embedded cluster the programs that stand behind
// the images of operators: such a cluster runs no containers, but processes of
// this machine. It builds a project's program or takes it out of an image that
// was built here, keeps it, and tells the cluster whose pods run it. How the
// cluster runs it is the business of internal/controlplane/hostpods, and how an
// operator is installed that of internal/olm/run and the deploy command.
package hostprogram

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/mainpkg"
)

// Programs are those of one embedded cluster.
type Programs struct {
	Host    host.Host
	Cluster string   // name of the embedded cluster
	Project *Project // the one that the command runs in; nil: none
	Say     func(format string, args ...any)
}

// Project is the project that a bundle may have been made from.
type Project struct {
	Dir   string // absolute
	Image string // of its manager, as its manifests have it
}

// OperatorImage is the image of the operator among the objects of its deployment:
// that of the container manager of a Deployment, or of the first container of the
// first one; "" without Deployments.
func OperatorImage(objects []*unstructured.Unstructured) string {
	first := ""
	for _, u := range objects {
		for _, c := range containersOf(u) {
			if c.Name == binaryName {
				return c.Image
			}
			first = cmp.Or(first, c.Image)
		}
	}
	return first
}

// containersOf are those of a Deployment's pods; none of any other object.
func containersOf(u *unstructured.Unstructured) []Container {
	if u.GetKind() != "Deployment" {
		return nil
	}
	var out []Container
	list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers") // what is no list has none
	for _, c := range list {
		m, _ := c.(map[string]any)
		name, _ := m["name"].(string)
		img, _ := m["image"].(string)
		out = append(out, Container{Name: name, Image: img})
	}
	return out
}

// binaryName is the operator's program in its image, and its container.
const binaryName = "manager"

// Deployment is one of an operator, with what its pods run.
type Deployment struct {
	Name       string
	Namespace  string // "" is that of the operator
	Containers []Container
	Init       []Container // init containers
}

// Container is one container of a Deployment's pods.
type Container struct{ Name, Image string }

// Register finds or builds the program of each image of an operator and tells
// the cluster that the operator's pods in the namespace run it. An image for
// which there is none is told too, so that its pod says what is missing. undo
// restores what the cluster knew before.
func (p Programs) Register(ctx context.Context, namespace string, deployments []Deployment) (undo func(context.Context) error, err error) {
	// Before anything is told, as undo may need what is known now.
	if err := p.collect(ctx); err != nil {
		return nil, err
	}
	_, before, err := p.registered(ctx)
	if err != nil {
		return nil, err
	}
	told, err := p.tellAll(ctx, namespace, deployments)
	if err != nil {
		// Also after Ctrl-C: half of it told is of no use to anybody.
		return nil, errors.Join(err, p.restore(context.WithoutCancel(ctx), before, told))
	}
	return func(ctx context.Context) error { return p.restore(ctx, before, told) }, nil
}

// tellAll tells the cluster of the programs of an operator's containers, for the pods
// of their workloads, and for all pods of the image that nothing was said of: those of
// a manifest that the user applies. That there is none is said of the workload's pods
// alone, as the image's name may be that of another project's too. What the cluster
// may have been told is returned with an error too.
func (p Programs) tellAll(ctx context.Context, namespace string, deployments []Deployment) ([]state.Program, error) {
	found := map[string]state.Program{}                   // by image
	programs := make([][]state.Program, len(deployments)) // any other container is simulated
	anywhere := false
	for i, d := range deployments {
		for j, c := range slices.Concat(d.Containers, d.Init) {
			prog, ok := found[c.Image]
			if !ok {
				var err error
				if prog, err = p.find(ctx, c.Image); err != nil {
					return nil, err
				}
				found[c.Image] = prog
			}
			if prog.Image != "" {
				programs[i] = append(programs[i], prog)
				anywhere = anywhere || j < len(d.Containers)
			}
		}
	}
	// Only now: a build may take minutes, in which the cluster may be started again.
	control, err := cluster.Control(ctx, p.Host, p.Cluster)
	if err != nil {
		return nil, err
	}
	var told []state.Program
	for i, d := range deployments {
		if images := d.missing(found, anywhere); len(images) > 0 {
			programs[i] = append(programs[i], state.Program{Image: images[0], Problem: p.problem(images, found)})
		}
		for _, prog := range programs[i] {
			own := prog
			own.Workload = state.WorkloadName(cmp.Or(d.Namespace, namespace), "Deployment", d.Name)
			now := []state.Program{own}
			if prog.Problem == "" {
				now = append(now, prog)
			}
			for _, one := range now {
				told = append(told, one)
				if err := control.SetProgram(ctx, one); err != nil {
					return told, err
				}
			}
		}
	}
	return told, nil
}

// missing are the images of which one has the operator's program, which was not built:
// that of the container named manager; without that name, those of all containers,
// unless a program was built for another Deployment.
func (d Deployment) missing(found map[string]state.Program, anywhere bool) (images []string) {
	own := d.Containers
	if i := slices.IndexFunc(own, func(c Container) bool { return c.Name == binaryName }); i >= 0 {
		own, anywhere = own[i:i+1], found[own[i].Image].Image != ""
	}
	for _, c := range own {
		if !anywhere && c.Image != "" {
			images = append(images, c.Image)
		}
	}
	return images
}

// registered lists what the cluster was told of, sorted by image.
func (p Programs) registered(ctx context.Context) (state.Control, []state.Program, error) {
	control, err := cluster.Control(ctx, p.Host, p.Cluster)
	if err != nil {
		return control, nil, err
	}
	list, err := control.Programs(ctx)
	return control, list, err
}

// known finds what the cluster was told of an image for a workload; -1 is
// nothing.
func known(list []state.Program, image, workload string) int {
	return slices.IndexFunc(list, func(k state.Program) bool { return k.Image == image && k.Workload == workload })
}

// restore tells the cluster again what it knew of the images.
func (p Programs) restore(ctx context.Context, before, told []state.Program) error {
	if len(told) == 0 {
		return nil
	}
	control, err := cluster.Control(ctx, p.Host, p.Cluster)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range told {
		if i := known(before, t.Image, t.Workload); i >= 0 {
			errs = append(errs, control.SetProgram(ctx, before[i]))
			continue
		}
		errs = append(errs, control.RemoveProgram(ctx, t.Image, t.Workload))
	}
	return errors.Join(errs...)
}

// forget makes the cluster forget what it was told for the Deployments of an
// operator that is gone. Other pods of its images run what this machine has built
// again. What another project has said of an image of the same name stays.
func (p Programs) forget(ctx context.Context, gone func(state.Program) bool) error {
	control, list, err := p.registered(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, own := range list {
		if own.Workload == "" || !gone(own) {
			continue
		}
		errs = append(errs, control.RemoveProgram(ctx, own.Image, own.Workload))
		if all := known(list, own.Image, ""); all >= 0 && list[all].Path == own.Path {
			program, err := p.find(ctx, own.Image)
			if program.Image != "" {
				errs = append(errs, control.SetProgram(ctx, program))
			} else {
				errs = append(errs, err, control.RemoveProgram(ctx, own.Image, ""))
			}
		}
	}
	return errors.Join(append(errs, p.collect(ctx))...)
}

// find returns the program of an image: the project's, built now, or that of an
// image built on this machine. Without either it names no image, and has the problem
// of an image that is here all the same.
func (p Programs) find(ctx context.Context, img string) (state.Program, error) {
	if p.Project != nil && img == p.Project.Image {
		return p.build(ctx, img)
	}
	stored, err := image.Open(ctx, p.Host, image.OpenOptions{
		Image: img, Offline: true, Roots: func(map[string]string) []string { return []string{binaryName} },
	})
	if ctx.Err() != nil || errors.Is(err, image.ErrNotHere) {
		return state.Program{}, ctx.Err()
	}
	if why := unusable(img, stored, err); why != "" {
		return state.Program{Problem: why}, nil
	}
	path, sum, err := p.keep(stored.Files[binaryName])
	if err != nil {
		return state.Program{}, fmt.Errorf("take the operator out of image %s: %w", img, err)
	}
	p.Say("Image %s: the program of the image on this machine", img)
	return state.Program{
		Image: img, Path: path, ID: sum, Commands: []string{"/" + binaryName},
		Source: "image " + img + " of this machine", Project: stored.Project,
	}, nil
}

// unusable says why an image, which was opened with err, has no program that runs
// outside of a container of this machine: images are for Linux, and not always for the
// same architecture. "" is that it has one.
func unusable(img string, c *image.Contents, err error) string {
	why, then, here := "", "run 'mysdk run bundle' or 'mysdk deploy' in the operator's project, which builds it from source", runtime.GOOS+"/"+runtime.GOARCH
	switch {
	case err != nil:
		why, then = err.Error(), cmp.Or(clierr.HintOf(err), then)
	case len(c.Files[binaryName]) == 0:
		why = "it has no program /" + binaryName
	case c.Platform != here:
		why = fmt.Sprintf("it is for %s, and this machine runs %s", c.Platform, here)
	default:
		return ""
	}
	return fmt.Sprintf("image %s cannot be used: %s: %s", img, why, then)
}

// problem says why none of the images has a program, and what to do about it.
func (p Programs) problem(images []string, found map[string]state.Program) string {
	which, img, then := "it", images[0], ""
	if repository, _, pinned := strings.Cut(img, "@"); pinned {
		img, then = repository, " and use its new digest"
	}
	if len(images) > 1 {
		which, img, then = "the operator's", "IMAGE", " and install the operator again"
	}
	why := fmt.Sprintf("this cluster runs operators that were built on this machine, and it has no image %s: build %s with 'mysdk image build --image %s'%s", strings.Join(images, " or "), which, img, then)
	if i := slices.IndexFunc(images, func(img string) bool { return found[img].Problem != "" }); i >= 0 {
		why = found[images[i]].Problem
	}
	if p.Project != nil {
		why += fmt.Sprintf("; the project here has the image %s", p.Project.Image)
	}
	return why
}

// build compiles the project.
func (p Programs) build(ctx context.Context, img string) (state.Program, error) {
	start := p.Host.Now()
	pkg, err := mainpkg.Find(p.Host.Files, p.Project.Dir)
	if err != nil {
		return state.Program{}, err
	}
	data, err := p.compile(ctx, pkg)
	if err != nil {
		return state.Program{}, err
	}
	path, sum, err := p.keep(data)
	if err != nil {
		return state.Program{}, err
	}
	p.Say("Image %s: the operator of this project, built in %s", img, p.Host.Now().Sub(start).Round(100*time.Millisecond))
	commands, err := p.Project.commands(p.Host.Files)
	return state.Program{Image: img, Path: path, ID: sum, Commands: commands, Source: "project " + p.Project.Dir, Project: p.Project.Dir}, err
}

// compile is the program of the project's main package. One command at a time
// compiles it, as all write the same file.
func (p Programs) compile(ctx context.Context, pkg string) (program []byte, err error) {
	goTool, err := mainpkg.GoTool(p.Host)
	if err != nil {
		return nil, err
	}
	dir, err := p.dir()
	if err != nil {
		return nil, err
	}
	// It stays, so that the go command has nothing to link if nothing changed.
	out := filepath.Join(dir, "built-"+key([]byte(p.Project.Dir)))
	lock, err := filelock.Await(ctx, out+".lock", func() { p.Say("Waiting for another build of this project") })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Remove()) }()
	var log bytes.Buffer
	// The linker's flag leaves out what only debuggers read: a quarter of the
	// time goes into that.
	err = host.Run(ctx, p.Host.Exec, host.Cmd{
		Name: goTool, Args: []string{"build", "-o", out, "-ldflags=-w", pkg}, Dir: p.Project.Dir, Env: mainpkg.BuildEnv(p.Host),
		Stdout: &log, Stderr: &log, Group: true, Grace: time.Second, DieWithParent: true,
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, clierr.Failedf("correct the lines above, then run the command again", "build the operator: go build %s:\n%s", pkg, strings.TrimSpace(log.String()))
	}
	return p.Host.Files.ReadFile(out)
}

// commands are what the project's image has the operator as: by its Dockerfile,
// and by 'mysdk image build', which needs none.
func (p Project) commands(files host.Files) ([]string, error) {
	own := []string{"/" + binaryName}
	data, err := files.ReadFile(filepath.Join(p.Dir, "Dockerfile"))
	if errors.Is(err, fs.ErrNotExist) {
		return own, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the operator's path in the image: %w", err)
	}
	named := image.Commands(data)
	if len(named) == 0 || slices.Contains(named, own[0]) {
		return named, nil
	}
	return append(named, own...), nil
}

// dir is where the programs of the cluster are kept.
func (p Programs) dir() (string, error) {
	stateDir, err := p.Host.StateDir()
	if err != nil {
		return "", err
	}
	dir := state.HostPrograms(stateDir, p.Cluster)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("keep the operator's program: %w", err)
	}
	return dir, nil
}

// keep puts a program where its content says: one that runs is not written to,
// and the same one is kept once.
func (p Programs) keep(data []byte) (path, sum string, err error) {
	dir, err := p.dir()
	if err != nil {
		return "", "", err
	}
	sum = key(data)
	path = filepath.Join(dir, sum, host.Program(binaryName))
	if _, err := p.Host.Files.Lstat(path); err == nil {
		// As new, so that no other process collects it before the cluster is told.
		now := p.Host.Now()
		return path, sum, os.Chtimes(filepath.Dir(path), now, now)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", "", err
	}
	return path, sum, host.ReplaceData(p.Host.Files, path, data, 0o755)
}

// key is a short digest.
func key(data []byte) string { return fmt.Sprintf("%.8x", sha256.Sum256(data)) }

const (
	collecting = 5 * time.Minute     // the age from which on nobody is about to tell the cluster of a program
	unbuilt    = 30 * 24 * time.Hour // the age of a project's last build that is not worth its place any more
)

// collect removes programs that the cluster does not know any more, but not
// those that another process may just be bringing, and old builds of projects.
func (p Programs) collect(ctx context.Context) error {
	dir, err := p.dir()
	if err != nil {
		return err
	}
	_, known, err := p.registered(ctx)
	if err != nil {
		return err
	}
	entries, err := p.Host.Files.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name(), host.Program(binaryName))
		age := collecting
		if !e.IsDir() {
			age = unbuilt
		}
		if slices.ContainsFunc(known, func(k state.Program) bool { return k.Path == path }) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && p.Host.Now().Sub(info.ModTime()) < age {
			continue
		}
		if err != nil {
			return err
		}
		// One that still runs cannot be removed on Windows: the next time can.
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
	return nil
}
