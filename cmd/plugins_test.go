package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// installPlugin NAME/VERSION... puts the test binary, which plays an external
// plugin under the name sample, where plugins are looked for.
func installPlugin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: plugin NAME/VERSION...")
	}
	self, err := os.Executable()
	ts.Check(err)
	for _, key := range args {
		dir := filepath.Join(ts.Getenv("EXTERNAL_PLUGINS_PATH"), filepath.FromSlash(key))
		ts.Check(os.MkdirAll(dir, 0o755))
		ts.Check(os.Symlink(self, filepath.Join(dir, path.Base(path.Dir(key)))))
	}
}

// sampleRequest is what the sample plugin reads of a request.
type sampleRequest struct {
	APIVersion  string            `json:"apiVersion"`
	Args        []string          `json:"args"`
	Command     string            `json:"command"`
	Universe    map[string]string `json:"universe"`
	PluginChain []string          `json:"pluginChain"`
	Config      map[string]any    `json:"config"`
}

// samplePlugin is an external plugin. SAMPLE says in which way it is broken.
func samplePlugin() int {
	var req sampleRequest
	if err := json.NewDecoder(os.Stdin).Decode(&req); err != nil || req.APIVersion != "v1alpha1" {
		fmt.Fprintln(os.Stderr, "no request:", err, req.APIVersion)
		return 1
	}
	res := map[string]any{"apiVersion": "v1alpha1", "command": req.Command, "universe": map[string]string{}}
	switch how := os.Getenv("SAMPLE"); {
	case how == "noflags" && req.Command == "flags":
		res["error"], res["errorMsgs"] = true, []string{"unknown subcommand: flags"}
	case how == "text":
		fmt.Println("Hello, I am no JSON")
		return 0
	case how == "crash":
		fmt.Fprintln(os.Stderr, "sample: out of sample")
		return 7
	case how == "hang" && req.Command != "flags":
		fmt.Fprintln(os.Stderr, "sample: waiting")
		time.Sleep(time.Hour)
	case how == "old":
		res["apiVersion"] = "v0"
	case req.Command == "flags":
		res["flags"] = sampleFlags(req.Args[0])
	case req.Command == "metadata":
		res["metadata"] = map[string]string{"description": "adds documents with a flavour (" + req.Args[0] + ")", "examples": "  mysdk init --flavour sour\n"}
	default:
		sampleFiles(how, req, res)
	}
	if err := json.NewEncoder(os.Stdout).Encode(res); err != nil {
		return 1
	}
	return 0
}

func sampleFlags(subcommand string) []map[string]string {
	flags := []map[string]string{
		{"Name": "flavour", "Type": "string", "Default": "plain", "Usage": "taste of the documents"},
		{"Name": "kind", "Type": "string", "Default": "", "Usage": "bound by mysdk already"},
	}
	if subcommand == "--api" {
		flags = append(flags, map[string]string{"Name": "pages", "Type": "int", "Default": "1", "Usage": "pages to write"})
	}
	return flags
}

func sampleFiles(how string, req sampleRequest, res map[string]any) {
	switch how {
	case "refuse":
		res["error"], res["errorMsgs"] = true, []string{"no flavour is right"}
		return
	case "outside":
		res["universe"] = map[string]string{"docs/../../evil.txt": "x"}
		return
	case "project":
		res["universe"] = map[string]string{"PROJECT": "version: 9\n"}
		return
	case "git":
		res["universe"] = map[string]string{".git/hooks/pre-commit": "x"}
		return
	}
	fmt.Fprintln(os.Stderr, "sample: "+req.Command)
	files := req.Universe // plugins may repeat what they got
	page := "docs/" + strings.ReplaceAll(req.Command, " ", "-") + ".md"
	resources, _ := req.Config["resources"].([]any)
	files[page] = fmt.Sprintf("args: %s\nchain: %s\ndomain: %v\nresources: %d\nmain.go: %v\n",
		strings.Join(req.Args, " "), strings.Join(req.PluginChain, " "), req.Config["domain"], len(resources), files["cmd/main.go"] != "")
	files["Makefile"] += "\n# " + req.Command + "\n"
	res["universe"] = files
}

// TestExternalPluginsGuide builds the plugin of the guide and does what the
// page says with it.
func TestExternalPluginsGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	w := hosttest.New(t)
	blocks := guideBlocks(t, "external-plugins")
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte(blocks[0].text), 0o644); err != nil {
		t.Fatal(err)
	}
	w.Env["EXTERNAL_PLUGINS_PATH"] = t.TempDir()
	program := filepath.Join(w.Env["EXTERNAL_PLUGINS_PATH"], "pages", "v1", "pages")
	err := host.Run(t.Context(), w.Exec, host.Cmd{Name: "go", Args: []string{"build", "-o", program, source}, Env: w.Environ(), Stderr: w.Err})
	if err != nil {
		t.Fatal(err, w.Err)
	}
	for line := range strings.Lines(blocks[1].text) {
		args := strings.Fields(line)[1:]
		if args[0] == "init" {
			args = append(args, "--title", "Shop", "--project-name", "shop")
		}
		if code := root.Main(t.Context(), w.Host, args); code != 0 {
			t.Fatalf("%s: exit code %d: %s", line, code, w.Err)
		}
	}
	page, err := os.ReadFile(w.Path("docs/README.md"))
	if want := "# Shop\n\nIts groups end in example.com.\n"; err != nil || string(page) != want {
		t.Errorf("the page is %q, %v; want %q", page, err, want)
	}
}

// TestPluginInterrupted stops a plugin that does not answer, as Ctrl-C does.
func TestPluginInterrupted(t *testing.T) {
	w := hosttest.New(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.Env["EXTERNAL_PLUGINS_PATH"], w.Env["SAMPLE"] = t.TempDir(), "hang"
	dir := filepath.Join(w.Env["EXTERNAL_PLUGINS_PATH"], "sample", "v1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "sample")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	w.Exec = stopping{w.Exec, stop}
	if code := root.Main(ctx, w.Host, []string{"init", "--project-name", "shop", "--skip-go-version-check", "--plugins", "go/v4,sample/v1"}); code != clierr.CodeInterrupted {
		t.Errorf("exit code %d: %s", code, w.Err)
	}
	if files := hosttest.Snapshot(t, w.Dir); len(files) > 0 {
		t.Errorf("files were left: %v", files)
	}
}

// stopping calls stop as soon as a process says something on stderr.
type stopping struct {
	host.Exec
	stop context.CancelFunc
}

func (s stopping) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	if c.Stderr != nil {
		c.Stderr = stopOnWrite{c.Stderr, s.stop}
	}
	return s.Exec.Start(ctx, c)
}

type stopOnWrite struct {
	io.Writer
	stop context.CancelFunc
}

func (w stopOnWrite) Write(data []byte) (int, error) {
	w.stop()
	return w.Writer.Write(data)
}
