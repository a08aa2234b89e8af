package localrun

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
)

// plan is what follows from the options and the project alone. It does not
// change any more once steps run side by side.
type plan struct {
	mainPkg string // for the go command, relative to the project
	goTool  string // path of the go command
	cache   string // directory of this project's builds
	built   string // path that all runs of the project build the operator to
	binary  string // path that this run has it at
	dlv     string // path of the debugger, found before the operator is started
}

// Check refuses options that are wrong in any project. What is in manifests is for
// the run to read: a pipe has it once, and CRDs may have to be generated first.
func Check(o Options, d Deps) error {
	for _, name := range o.Apply {
		_, err := d.Host.Files.Lstat(d.Host.Path(name))
		if below, relErr := filepath.Rel(filepath.Join(o.Dir, "config"), d.Host.Path(name)); gone(err) && (relErr != nil || !filepath.IsLocal(below)) {
			return clierr.Usagef("check the path", "--apply: no file or directory %s", name)
		}
	}
	_, err := checked(o, d)
	return err
}

// checked is a run with what follows from the options alone.
func checked(o Options, d Deps) (*run, error) {
	r := newRun(o, d)
	if o.Fresh && (o.Kubeconfig != "" || o.Context != "") {
		return nil, clierr.Usagef("leave out --fresh, or --kubeconfig and --context",
			"--fresh empties the embedded cluster, but another one is named")
	}
	r.Name = cmp.Or(o.Name, filepath.Base(o.Dir))
	var err error
	if r.WatchNamespaces, err = checkNamespaces(o.WatchNamespaces); err != nil {
		return nil, err
	}
	if err = checkEnv(o.Env); err != nil {
		return nil, err
	}
	_, _, err = splitListen(o.WebhookListen)
	return r, errors.Join(err, checkWebhookHost(o.WebhookHost), checkDebug(o.Debug))
}

// prepare checks the options against the project and reads the manifests.
// Nothing has been started or written when it fails.
func prepare(ctx context.Context, o Options, d Deps) (*run, error) {
	r, err := checked(o, d)
	if err != nil {
		return nil, err
	}
	if r.manifests, err = readManifests(ctx, d.Host, o.Apply); err != nil {
		return nil, err
	}
	if r.plan.mainPkg, err = mainpkg.Find(d.Host.Files, o.Dir); err != nil {
		return nil, err
	}
	found, err := r.scan()
	if err != nil {
		return nil, err
	}
	if _, err = operatorArgs(found, o); err != nil {
		return nil, err
	}
	const off = "ENABLE_WEBHOOKS=false"
	if set, all := r.environment(nil); slices.Contains(set, off) || found.webhookSwitch && slices.Contains(all, off) {
		r.NoWebhooks = true // the operator will serve none
	}
	if r.plan.goTool, err = mainpkg.GoTool(d.Host); err != nil {
		return nil, err
	}
	if err := r.plan.place(d.Host, o.Dir); err != nil {
		return nil, err
	}
	r.build = newBuild(r)
	if o.Watch {
		// From now on no change is lost: one during the start is the first to
		// be looked at after it.
		if r.watcher, err = newWatcher(d.Host, o.Dir, r.samples()...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// checkNamespaces refuses names that no namespace can have (RFC 1123 labels).
func checkNamespaces(names []string) ([]string, error) {
	var list []string
	for _, n := range names {
		n = strings.TrimSpace(n)
		if n == "" || slices.Contains(list, n) {
			continue
		}
		if len(validation.IsDNS1123Label(n)) > 0 {
			return nil, clierr.Usagef("use lower-case letters, digits and inner '-', at most 63", "--watch-namespace: %q is not a namespace's name", n)
		}
		list = append(list, n)
	}
	return list, nil
}

// checkEnv refuses what is no variable: exec would drop it without a word.
func checkEnv(env []string) error {
	for _, e := range env {
		if key, _, ok := strings.Cut(e, "="); !ok || key == "" || strings.ContainsAny(e, "\x00") {
			return clierr.Usagef("write it as KEY=VALUE", "--env: %q is not a variable and its value", e)
		}
	}
	return nil
}

// place finds where this project's builds are kept: outside the project, and
// apart from those of other projects.
func (p *plan) place(h host.Host, dir string) error {
	cache, err := h.CacheDir()
	if err != nil {
		return clierr.WithHint(fmt.Errorf("find the cache directory: %w", err), "set MYSDK_CACHE_DIR to a directory of yours")
	}
	id := sha256.Sum256([]byte(dir))
	p.cache = filepath.Join(cache, "run", fmt.Sprintf("%.12x", id))
	p.built = filepath.Join(p.cache, host.Program("operator"))
	return nil
}
