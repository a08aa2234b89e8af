package project

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin/external"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// programs stands in for running processes: it answers requests itself.
type programs struct {
	host.Exec
	answer func(request) any // nil hangs until the context ends
	fails  error             // how the process ends
	asked  []request
	ran    []host.Cmd
}

func (p *programs) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	p.ran = append(p.ran, c)
	return answering{nil, p, ctx, c}, nil
}

type answering struct {
	host.Process
	programs *programs
	ctx      context.Context
	cmd      host.Cmd
}

func (a answering) Wait() error {
	var req request
	if err := json.NewDecoder(a.cmd.Stdin).Decode(&req); err != nil {
		return err
	}
	a.programs.asked = append(a.programs.asked, req)
	switch out := a.programs.answer(req).(type) {
	case nil:
		<-a.ctx.Done()
		return a.ctx.Err()
	case string:
		if _, err := io.WriteString(a.cmd.Stdout, out); err != nil {
			return err
		}
	default:
		if err := json.NewEncoder(a.cmd.Stdout).Encode(out); err != nil {
			return err
		}
	}
	return a.programs.fails
}

// mine is an external plugin that is answered for.
func mine(t *testing.T, answer func(request) any) (*External, *programs) {
	t.Helper()
	w := hosttest.New(t)
	x := &programs{answer: answer}
	w.Exec = x
	return &External{host: w.Host, name: "mine", version: plugin.Version{Number: 1}, path: "/plugins/mine", timeouts: timeouts{ask: time.Minute, scaffold: time.Minute}}, x
}

func writes(files map[string]string) func(request) any {
	return func(request) any { return external.PluginResponse{APIVersion: protocol, Universe: files} }
}

// scaffold runs the plugin's create api in a project with the given files.
func scaffold(t *testing.T, p *External, files map[string]string) (afero.Fs, error) {
	t.Helper()
	disk := afero.NewMemMapFs()
	for name, text := range files {
		if err := afero.WriteFile(disk, name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sub := &externalSubcommand{ctx: t.Context(), plugin: p, command: "create api", args: func() []string { return []string{"--kind", "K"} }, chain: []string{"a/v1", "mine/v1"}}
	if err := sub.InjectConfig(newFile().config); err != nil {
		t.Fatal(err)
	}
	sub.InjectExtras(map[string]any{"namespaced": true})
	return disk, sub.Scaffold(machinery.Filesystem{FS: disk})
}

func TestExternalRequest(t *testing.T) {
	p, x := mine(t, writes(nil))
	_, err := scaffold(t, p, map[string]string{"a.txt": "a", "dir/b.txt": "b", ".git/config": "c", "vendor/a/a.go": "d", "dir/node_modules/a.js": "e", "bin/tool": "\x7fELF\x00", "latin": "\xe9"})
	if err != nil {
		t.Fatal(err)
	}
	want := []request{{
		PluginRequest: external.PluginRequest{
			APIVersion: "v1alpha1", Command: "create api", Args: []string{"--kind", "K"},
			Universe: map[string]string{"a.txt": "a", "dir/b.txt": "b"},
		},
		PluginChain: []string{"a/v1", "mine/v1"}, Config: map[string]any{"version": "3", "namespaced": true},
	}}
	if d := cmp.Diff(want, x.asked); d != "" {
		t.Errorf("request (-want +got):\n%s", d)
	}
	if c := x.ran[0]; c.Name != "/plugins/mine" || len(c.Args) > 0 || c.Dir != p.host.Dir {
		t.Errorf("ran %s %v in %s", c.Name, c.Args, c.Dir)
	}
}

func TestExternalWrites(t *testing.T) {
	p, _ := mine(t, writes(map[string]string{"a.sh": "changed", "./new/b.txt": "b", "same.txt": "same", "PROJECT": "version: 3\n"}))
	disk, err := scaffold(t, p, map[string]string{"a.sh": "a", "same.txt": "same", "PROJECT": "version: 3\n"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.sh": "changed", "new/b.txt": "b", "same.txt": "same"} {
		if got, err := afero.ReadFile(disk, name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := disk.Stat("a.sh"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("a.sh: %v, %v", info.Mode(), err)
	}
}

// A failure is told once: what would follow it is not tried.
func TestExternalCannotWrite(t *testing.T) {
	p, _ := mine(t, writes(nil))
	err := p.apply(afero.NewReadOnlyFs(afero.NewMemMapFs()), nil, map[string]string{"a/b": ""})
	if want := "plugin " + p.key() + ": operation not permitted"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestExternalRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(request) any
		fails  error
		want   string
	}{
		"above":             {writes(map[string]string{"../x": ""}), nil, "not a path below the project"},
		"above by a detour": {writes(map[string]string{"a/../../x": ""}), nil, "not a path below the project"},
		"absolute":          {writes(map[string]string{"/etc/passwd": ""}), nil, "not a path below the project"},
		"no name":           {writes(map[string]string{"": ""}), nil, "not a path below the project"},
		"the root":          {writes(map[string]string{"a/..": ""}), nil, "not a path below the project"},
		"git":               {writes(map[string]string{".git/hooks/x": ""}), nil, "belongs to git"},
		"git by a detour":   {writes(map[string]string{"a/../.git/x": ""}), nil, "belongs to git"},
		"PROJECT":           {writes(map[string]string{"./PROJECT": "x"}), nil, "only mysdk writes"},
		"no JSON":           {func(request) any { return "hello" }, nil, "not what the protocol asks for"},
		"nothing":           {func(request) any { return "" }, nil, "unexpected end of JSON"},
		"two answers":       {func(request) any { return "{}{}" }, nil, "after top-level value"},
		"a refusal": {func(request) any {
			return external.PluginResponse{Error: true, ErrorMsgs: []string{"not so", "at all"}}
		}, nil, "mine/v1: not so\nat all"},
		"a refusal and exit": {func(request) any { return external.PluginResponse{Error: true, ErrorMsgs: []string{"not so"}} }, errors.New("exit status 1"), "mine/v1: not so"},
		"no reason":          {func(request) any { return external.PluginResponse{Error: true} }, nil, "failed without an error message"},
		"an exit":            {writes(nil), errors.New("exit status 3"), "exit status 3"},
		"another protocol":   {func(request) any { return external.PluginResponse{APIVersion: "v2"} }, nil, `version "v2" of the protocol`},
	} {
		t.Run(name, func(t *testing.T) {
			p, x := mine(t, c.answer)
			x.fails = c.fails
			disk, err := scaffold(t, p, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if clierr.HintOf(err) == "" {
				t.Error("no hint")
			}
			if list, err := afero.ReadDir(disk, "."); err == nil && len(list) > 0 {
				t.Errorf("%s was written", list[0].Name())
			}
		})
	}
}

func TestExternalHangs(t *testing.T) {
	p, _ := mine(t, func(request) any { return nil })
	p.timeouts.scaffold = time.Millisecond
	if _, err := scaffold(t, p, nil); err == nil || !strings.Contains(err.Error(), `no answer to "create api" within 1ms`) || clierr.CodeOf(err) != 1 {
		t.Errorf("error %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	p.timeouts.ask = time.Hour
	stop()
	if _, err := p.Metadata(ctx, "init"); !errors.Is(err, context.Canceled) {
		t.Errorf("after Ctrl-C: error %v", err)
	}
}

func TestStepsFlags(t *testing.T) {
	tells := func(request) any {
		return external.PluginResponse{Flags: []external.Flag{
			{Name: "--text", Type: "string", Default: "x", Usage: "a text"}, {Name: "on", Type: "bool", Default: "true"},
			{Name: "n", Type: "int", Default: "many"}, {Name: "f", Type: "float", Default: "1.5"}, {Name: "odd", Type: "colour"},
			{Name: "kind", Default: "theirs"}, {Name: "help"},
		}}
	}
	for name, c := range map[string]struct {
		answer func(request) any
		typed  []string
		want   map[string]string // flag -> type and default
		err    string
	}{
		"told": {answer: tells, typed: []string{"--other"}, want: map[string]string{
			"kind": "string ours", "text": "string x", "on": "bool true", "n": "int 0", "f": "float64 1.5", "odd": "string "}},
		"not told": {answer: func(request) any { return external.PluginResponse{Error: true} },
			typed: []string{"create", "api", "--kind", "K", "--loud", "--colour", "red", "--a=b", "--last", "--help"},
			want:  map[string]string{"kind": "string ours", "loud": "bool false", "colour": "string ", "a": "string ", "last": "bool false"}},
		"no name":  {answer: func(request) any { return external.PluginResponse{Flags: []external.Flag{{Name: "--"}}} }, err: "cannot be the name of a flag"},
		"bad name": {answer: func(request) any { return external.PluginResponse{Flags: []external.Flag{{Name: "a b"}}} }, err: "cannot be the name of a flag"},
		"broken":   {answer: func(request) any { return "?" }, err: "not what the protocol asks for"},
	} {
		t.Run(name, func(t *testing.T) {
			p, x := mine(t, c.answer)
			create, _ := SubcommandOf("create api")
			s, err := Chain{p}.Steps(t.Context(), create, c.typed, nil)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"--api"}, x.asked[0].Args); d != "" || x.asked[0].Command != "flags" {
				t.Errorf("asked %+v", x.asked[0])
			}
			set := pflag.NewFlagSet("x", pflag.ContinueOnError)
			set.String("kind", "ours", "")
			s.BindFlags(set)
			got := map[string]string{}
			set.VisitAll(func(f *pflag.Flag) { got[f.Name] = f.Value.Type() + " " + f.DefValue })
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("flags (-want +got):\n%s", d)
			}
		})
	}
}

// stop is a plugin's subcommand that notes its hooks.
type stop struct {
	name string
	log  *[]string
	err  error
}

func (s stop) PreScaffold(machinery.Filesystem) error {
	*s.log = append(*s.log, s.name+" before")
	return s.err
}
func (s stop) Scaffold(machinery.Filesystem) error {
	*s.log = append(*s.log, s.name)
	return nil
}
func (s stop) ProjectExtras() map[string]any  { return map[string]any{s.name: 1} }
func (s stop) ResourceExtras() map[string]any { return map[string]any{s.name: 2} }
func (s stop) Notes() []string                { return []string{s.name} }

func TestStepsOrder(t *testing.T) {
	var log []string
	s := &Steps{subs: []plugin.Subcommand{stop{"a", &log, nil}, stop{"b", &log, nil}}}
	f, _, err := begin(s, InitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a before", "b before", "a", "b"}, log); d != "" {
		t.Errorf("hooks (-want +got):\n%s", d)
	}
	if len(f.extras) != 2 || len(s.Notes()) != 2 {
		t.Errorf("extras %v, notes %v", f.extras, s.Notes())
	}
	gvk := resource.GVK{Group: "cache", Version: "v1", Kind: "Memcached"}
	if err := f.config.AddResource(resource.Resource{GVK: gvk}); err != nil {
		t.Fatal(err)
	}
	if err := f.addResourceExtras(s, gvk); err != nil {
		t.Fatal(err)
	}
	if fields := f.resourceFields(gvk); fields["a"] != 2 || fields["b"] != 2 {
		t.Errorf("the resource has %v", fields)
	}
	log = nil
	s = &Steps{subs: []plugin.Subcommand{stop{"a", &log, errors.New("no")}, stop{"b", &log, nil}}}
	if err := runHooks(s, newFile(), nil, newOverlay("")); err == nil || len(log) != 1 {
		t.Errorf("error %v after %v", err, log)
	}
}

func TestEditSeesTheChange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Skip(err) // Windows asks for a right
	}
	for name, text := range map[string]string{"PROJECT": "version: \"3\"\n", "old.txt": "old", "kept.txt": "kept"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link.txt": "kept.txt", "loop": "."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p, x := mine(t, writes(map[string]string{"kept.txt": "more", "moved.txt": "edited", "extra.txt": "x"}))
	steps := &Steps{subs: []plugin.Subcommand{&externalSubcommand{ctx: t.Context(), plugin: p, command: "edit", args: func() []string { return nil }}}}
	var change fileset.Set
	for name, f := range map[string]fileset.File{
		"old.txt": {Removed: true}, "moved.txt": {Data: []byte("old"), New: true}, "PROJECT": {Data: []byte("multigroup: true\nversion: \"3\"\n")},
	} {
		if err := change.Put(name, f); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Edit(steps, dir, change)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"PROJECT": "multigroup: true\nversion: \"3\"\n", "kept.txt": "kept", "moved.txt": "old"}, x.asked[0].Universe); d != "" {
		t.Errorf("the plugin saw (-want +got):\n%s", d)
	}
	if x.asked[0].Config["multigroup"] != true {
		t.Errorf("config %v", x.asked[0].Config)
	}
	if d := cmp.Diff([]string{"PROJECT", "extra.txt", "kept.txt", "moved.txt", "old.txt"}, set.Paths()); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	for name, want := range map[string]bool{"moved.txt": true, "extra.txt": true, "kept.txt": false} {
		if f, _ := set.Get(name); f.New != want {
			t.Errorf("%s: new is %v", name, f.New)
		}
	}
	if f, _ := set.Get("old.txt"); !f.Removed {
		t.Error("old.txt stays")
	}
}

func TestPluginRoot(t *testing.T) {
	w := hosttest.New(t)
	w.Env = map[string]string{"HOME": "/home/me"}
	w.Getenv = func(k string) string { return w.Env[k] }
	if got := pluginRoot(w.Host); !strings.HasPrefix(got, "/home/me/") || !strings.HasSuffix(got, "/kubebuilder/plugins") {
		t.Errorf("at home: %s", got)
	}
	w.Env["XDG_CONFIG_HOME"] = "/xdg"
	if got := pluginRoot(w.Host); got != "/xdg/kubebuilder/plugins" {
		t.Errorf("by XDG_CONFIG_HOME: %s", got)
	}
	w.Env["EXTERNAL_PLUGINS_PATH"] = "here"
	if got := pluginRoot(w.Host); got != filepath.Join(w.Dir, "here") {
		t.Errorf("by EXTERNAL_PLUGINS_PATH: %s", got)
	}
}

func TestLayoutChain(t *testing.T) {
	w := hosttest.New(t)
	w.Env["EXTERNAL_PLUGINS_PATH"] = w.Path("plugins")
	dir := w.Path("plugins/mine.example.com/v1-alpha")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.example.com.py"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	builtIn := BuiltIn{Plugin: &External{name: "go.kubebuilder.io", version: plugin.Version{Number: 4}}, Aliases: []string{"go/v4"}}
	for layout, want := range map[string]string{
		"go.kubebuilder.io/v4": "go.kubebuilder.io/v4", "base.go.kubebuilder.io/v4": "go.kubebuilder.io/v4",
		"go.kubebuilder.io/v4 helm.kubebuilder.io/v2-alpha": "go.kubebuilder.io/v4",
		"mine.example.com/v1-alpha go/v4":                   "mine.example.com/v1-alpha go.kubebuilder.io/v4",
		"go/v4 mine":                                        "go.kubebuilder.io/v4 mine.example.com/v1-alpha",
		"ansible.sdk.operatorframework.io/v1":               "",
	} {
		chain, err := LayoutChain(w.Host, strings.Fields(layout), builtIn)
		if err != nil || strings.Join(chain.Keys(), " ") != want {
			t.Errorf("%s: %v, %v", layout, chain.Keys(), err)
		}
	}
	if _, err := LayoutChain(w.Host, []string{"other/v1"}, builtIn); err == nil || !strings.Contains(err.Error(), w.Path("plugins")) {
		t.Errorf("error %v does not say where was looked", err)
	}
}

// FuzzApply: whatever a plugin answers, nothing outside the project, of git or
// PROJECT is written.
func FuzzApply(f *testing.F) {
	for _, name := range []string{"a", "../a", "/a", "a/../../b", ".git/x", "./PROJECT", "a\\..\\b", "C:\\x", "a//b", "."} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		disk := afero.NewMemMapFs()
		p := &External{name: "mine", version: plugin.Version{Number: 1}}
		if p.apply(disk, nil, map[string]string{name: "x"}) != nil {
			return
		}
		err := afero.Walk(disk, ".", func(name string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() {
				return err
			}
			first, _, _ := strings.Cut(name, "/")
			if slices.Contains([]string{".git", FileName, ".."}, first) || strings.HasPrefix(name, "/") {
				t.Errorf("%s was written", name)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// FuzzParseKey: a key that is accepted stays below the plugins' directory.
func FuzzParseKey(f *testing.F) {
	for _, key := range []string{"go/v4", "a.b/v1-alpha", "../x/v1", "a/../v1", "a", "/", "a/v1/v2"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		name, version, err := parseKey(key)
		if err != nil {
			return
		}
		if p := filepath.Join("/root", name, version); !strings.HasPrefix(p, "/root/"+name) || strings.ContainsAny(name+version, "/\\") {
			t.Errorf("%q leads to %s", key, p)
		}
	})
}
