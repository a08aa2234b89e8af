package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/recording"
)

// runtimes are the versions of controller-runtime in the guide's table.
var runtimes = []string{"v0.14.7", "v0.16.6", "v0.19.7", "v0.21.0", "v0.23.3", "v0.25.2"}

// TestControllerRuntimes: what is seen of an operator does not depend on its
// controller-runtime. It downloads them.
func TestControllerRuntimes(t *testing.T) {
	hosttest.LeaveToNightly(t, "downloads and compiles six versions of controller-runtime")
	r := newReader(t)
	for _, version := range runtimes {
		t.Run(version, func(t *testing.T) {
			r := &reader{t: t, dir: t.TempDir(), env: r.env}
			for _, name := range []string{"main.go", "PROJECT", "go.mod.tmpl"} {
				data, err := os.ReadFile(filepath.Join("../testdata/controller-runtime", name))
				if err != nil {
					t.Fatal(err)
				}
				text := strings.ReplaceAll(string(data), "{{.}}", version)
				if err := os.WriteFile(filepath.Join(r.dir, strings.TrimSuffix(name, ".tmpl")), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := r.sh("go get sigs.k8s.io/controller-runtime@" + version + " && go build -mod=mod -o " + os.DevNull + " ."); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := r.background("mysdk run local --keep", &block{text: "operator started: …\n"}); err != nil {
				t.Fatalf("%v\n%s", err, r.terminals[0].printed())
			}
			defer r.stopAll()
			name := "x" + strings.ReplaceAll(strings.TrimPrefix(version, "v"), ".", "-")
			r.do("x", block{lang: "sh", text: fmt.Sprintf(`
				mysdk kubectl create configmap %[1]s
				mysdk kubectl label configmap %[1]s kept=yes
				mysdk kubectl wait --for=create --timeout=120s serviceaccount/%[1]s
				mysdk kubectl delete serviceaccount %[1]s
				mysdk kubectl wait --for=create --timeout=120s serviceaccount/%[1]s`, name)}, nil)
			seen(t, r, name)
		})
	}
}

// seen holds what the guide's table says.
func seen(t *testing.T, r *reader, name string) {
	t.Helper()
	var why string
	err := await(func() (err error) {
		if why, err = r.sh("mysdk why configmap/" + name + " --limit 0"); err != nil {
			return err
		}
		for _, want := range []string{
			`why: +ConfigMap ` + name + ` (created|changed) by kubectl`,
			`why: +ServiceAccount ` + name + ` deleted by kubectl`,
			`wrote: +ServiceAccount ` + name + ` created \(main\.go:\d+\)`,
		} {
			if !regexp.MustCompile(want).MatchString(why) {
				return fmt.Errorf("not there: %s", want)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, why, r.terminals[0].printed())
	}
	w := hosttest.New(t)
	for _, e := range r.env {
		key, value, _ := strings.Cut(e, "=")
		w.Env[key] = value
	}
	control, err := cluster.Control(t.Context(), w.Host, state.DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := control.Recording(t.Context(), recording.Position{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if rec.EventsSince.IsZero() || len(rec.Events) == 0 {
		t.Error("the events of its watches are not read")
	}
	calls := map[string]bool{}
	for _, c := range rec.Reconciles {
		calls[c.LogID] = c.Name == name
	}
	tied := 0
	for _, l := range rec.Lines {
		if calls[l.LogID] && strings.Contains(l.Text, "creating the ServiceAccount") {
			tied++
		}
	}
	if tied < 2 {
		t.Errorf("%d lines of the log are tied to calls, of %+v", tied, rec.Lines)
	}
}
