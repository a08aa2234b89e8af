package localrun

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// plan is what follows from the options and the project alone. It does not
// change any more once steps run side by side.
type plan struct {
	name       string   // of the operator
	mainPkg    string   // for the go command, relative to the project
	goTool     string   // path of the go command
	cache      string   // directory of this project's builds
	binary     string   // path that the operator is built to
	namespaces []string // watched, without repeats
	args       []string // of the operator
	extraEnv   []string // set for the operator besides what is always set
	userEnv    []string // KEY=VALUE as given
}

// prepare checks the options against the project and reads the manifests.
// Nothing has been started or written when it fails.
func prepare(ctx context.Context, o Options, d Deps) (*run, error) {
	r := &run{Options: o, Deps: d, screen: &screen{out: d.Host.IO.Out, err: d.Host.IO.Err}}
	if o.Fresh && (o.Kubeconfig != "" || o.Context != "") {
		return nil, clierr.Usagef("leave out --fresh, or --kubeconfig and --context",
			"--fresh empties the embedded cluster, but another one is named")
	}
	r.plan.name = cmp.Or(o.Name, filepath.Base(o.Dir))
	var err error
	if r.plan.namespaces, err = checkNamespaces(o.WatchNamespaces); err != nil {
		return nil, err
	}
	if r.plan.userEnv, err = checkEnv(o.Env); err != nil {
		return nil, err
	}
	if r.plan.mainPkg, err = findMain(d.Host, o); err != nil {
		return nil, err
	}
	found, err := scanMain(d.Host, filepath.Join(o.Dir, filepath.FromSlash(r.plan.mainPkg)))
	if err != nil {
		return nil, err
	}
	if r.plan.args, err = operatorArgs(found, o); err != nil {
		return nil, err
	}
	if found.webhookSwitch {
		// There is no certificate for a webhook server here.
		r.plan.extraEnv = append(r.plan.extraEnv, "ENABLE_WEBHOOKS=false")
	}
	if r.manifests, err = readManifests(ctx, d.Host, o.Apply); err != nil {
		return nil, err
	}
	if r.plan.goTool, err = findGo(d.Host); err != nil {
		return nil, err
	}
	if err := r.plan.place(d.Host, o.Dir); err != nil {
		return nil, err
	}
	r.build = newBuild(r)
	return r, nil
}

// checkNamespaces refuses names that no namespace can have (RFC 1123 labels).
func checkNamespaces(names []string) ([]string, error) {
	label := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	var list []string
	for _, n := range names {
		n = strings.TrimSpace(n)
		if n == "" || slices.Contains(list, n) {
			continue
		}
		if !label.MatchString(n) {
			return nil, clierr.Usagef("use lower-case letters, digits and inner '-', at most 63", "--watch-namespace: %q is not a namespace's name", n)
		}
		list = append(list, n)
	}
	return list, nil
}

func checkEnv(env []string) ([]string, error) {
	for _, e := range env {
		if key, _, ok := strings.Cut(e, "="); !ok || key == "" || strings.ContainsAny(e, "\x00") {
			return nil, clierr.Usagef("write it as KEY=VALUE", "--env: %q is not a variable and its value", e)
		}
	}
	return env, nil
}

// findMain returns the main package: where the current layout, the one before
// it and the oldest have it.
func findMain(h host.Host, o Options) (string, error) {
	if o.Package != "" {
		return o.Package, nil
	}
	for _, p := range []string{"./cmd", ".", "./cmd/manager"} {
		if _, err := h.Files.Lstat(filepath.Join(o.Dir, filepath.FromSlash(p), "main.go")); err == nil {
			return p, nil
		}
	}
	return "", clierr.Usagef("run it in an operator's project, or make one with 'mysdk init'",
		"run the operator: no cmd/main.go in %s", o.Dir)
}

func findGo(h host.Host) (string, error) {
	path, err := h.LookPath("go")
	if err != nil {
		return "", clierr.Failedf("install Go from https://go.dev/dl/ and put its bin directory into PATH", "build the operator: find the go command: %w", err)
	}
	return path, nil
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
	p.binary = filepath.Join(p.cache, "operator")
	if runtime.GOOS == "windows" {
		p.binary += ".exe"
	}
	return nil
}

// environment is the operator's: the user's own, what it needs to know about
// this run, and what was given with --env, each over the one before.
func (r *run) environment() (set, all []string) {
	podNamespace := "default"
	if len(r.plan.namespaces) > 0 {
		podNamespace = r.plan.namespaces[0]
	}
	set = slices.Concat([]string{
		"WATCH_NAMESPACE=" + strings.Join(r.plan.namespaces, ","),
		"OPERATOR_NAME=" + r.plan.name,
		"POD_NAMESPACE=" + podNamespace,
		"KUBECONFIG=" + r.kubeconfig,
	}, r.plan.extraEnv)
	set = override(set, r.plan.userEnv)
	return set, override(r.Host.Environ(), set)
}

// override returns base with the variables of over, one value for each.
func override(base, over []string) []string {
	at := map[string]int{}
	var list []string
	for _, e := range slices.Concat(base, over) {
		key, _, _ := strings.Cut(e, "=")
		if i, ok := at[key]; ok {
			list[i] = e
			continue
		}
		at[key] = len(list)
		list = append(list, e)
	}
	return list
}
