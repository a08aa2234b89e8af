package project

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/upgrade"
)

func TestUpgrade_Flags(t *testing.T) {
	tests := map[string]struct {
		args  string
		want  upgradeOptions
		wrong string
	}{
		"none":             {"", upgradeOptions{output: "text"}, ""},
		"plan for a tool":  {"--plan -o json", upgradeOptions{plan: true, output: "json"}, ""},
		"in CI":            {"--check --from v0.1.0", upgradeOptions{check: true, from: "v0.1.0", output: "text"}, ""},
		"for real":         {"--force --keep-going --workflow --baselines x", upgradeOptions{force: true, keepGoing: true, workflow: true, baselines: "x", output: "text"}, ""},
		"the end":          {"--continue", upgradeOptions{finish: true, output: "text"}, ""},
		"two of them":      {"--plan --dry-run", upgradeOptions{}, "--plan and --dry-run cannot be combined"},
		"three of them":    {"--check --dry-run --continue", upgradeOptions{}, "--check and --dry-run and --continue cannot be combined"},
		"end what it not":  {"--continue --workflow", upgradeOptions{}, "--continue only finishes an upgrade that was started"},
		"a diff as data":   {"--dry-run -o yaml", upgradeOptions{}, "--dry-run cannot be combined with --output yaml"},
		"another format":   {"-o xml", upgradeOptions{}, "xml"},
		"what is no flag":  {"--apply", upgradeOptions{}, "unknown flag"},
		"an argument more": {"v0.1.0", upgradeOptions{}, ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			var got *upgradeOptions
			command := upgradeCommand(func(_ context.Context, o *upgradeOptions) error {
				got = o
				return nil
			})
			command.SetArgs(strings.Fields(c.args))
			command.SilenceErrors, command.SilenceUsage = true, true
			cli.Strict(command)
			err := command.ExecuteContext(t.Context())
			if c.want == (upgradeOptions{}) {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || got != nil {
					t.Errorf("got %v, want %s", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, *got, cmp.AllowUnexported(upgradeOptions{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestPlanText(t *testing.T) {
	tests := map[string]struct {
		plan upgrade.Plan
		want string
	}{
		"nothing to do": {upgrade.Plan{From: "v1", To: "v1"}, "The project's scaffold is of v1\n"},
		"all kinds": {
			upgrade.Plan{
				From: "v1", To: "v2", Notes: []string{"a.go:1: mend it"},
				Files: []upgrade.File{{Path: "Dockerfile", Action: upgrade.Updated}, {Path: "Makefile", Action: upgrade.Conflict, Detail: "your version stays"}},
			},
			"From v1 to v2\nupdated   Dockerfile\nconflict  Makefile  your version stays\na.go:1: mend it\n",
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
			planText(w, &c.plan)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, out.String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// With --check an upgrade that is due is exit code 3, also where only the
// user's decisions are left.
func TestReportPlan(t *testing.T) {
	w := hosttest.New(t)
	f := &cli.Factory{Host: w.Host}
	conflict := &upgrade.Plan{From: "v1", To: "v2", Files: []upgrade.File{{Path: "a", Action: upgrade.Conflict}}}
	if err := reportPlan(f, conflict, &upgradeOptions{check: true, output: "text"}); clierr.CodeOf(err) != clierr.CodeOutOfDate {
		t.Errorf("got %v", err)
	}
	if err := reportPlan(f, conflict, &upgradeOptions{plan: true, output: "text"}); err != nil {
		t.Errorf("got %v", err)
	}
	workflow := &upgrade.Plan{From: "v2", To: "v2", Files: []upgrade.File{{Path: "w.yml", Action: upgrade.New}}}
	if err := workflow.Set.Put("w.yml", fileset.File{New: true}); err != nil {
		t.Fatal(err)
	}
	err := reportPlan(f, workflow, &upgradeOptions{check: true, workflow: true, output: "text"})
	if want := "w.yml is out of date"; clierr.CodeOf(err) != clierr.CodeOutOfDate || err.Error() != want || clierr.HintOf(err) != "run 'mysdk upgrade --workflow'" {
		t.Errorf("got %v, want %s", err, want)
	}
	w.Out.Reset()
	if err := reportPlan(f, &upgrade.Plan{From: "v2", To: "v2"}, &upgradeOptions{check: true, output: "text"}); err != nil || w.Out.Len() > 0 {
		t.Errorf("got %v\n%s", err, w.Out)
	}
}

// What is next depends on what could be done.
func TestNextAfterUpgrade(t *testing.T) {
	merged := []upgrade.File{{Path: "go.mod", Action: upgrade.Merged}}
	tests := map[string]struct {
		plan      upgrade.Plan
		generated bool
		want      string
	}{
		"all is done":              {upgrade.Plan{Files: []upgrade.File{{Path: "go.mod", Action: upgrade.Updated}}}, true, "mysdk test"},
		"modules of the user":      {upgrade.Plan{Files: merged}, true, "go mod tidy && mysdk test"},
		"not generated":            {upgrade.Plan{Files: merged}, false, "go mod tidy && mysdk generate && mysdk test"},
		"formats that vet refuses": {upgrade.Plan{Formats: true}, true, "go vet -printf -fix ./... && mysdk test"},
		"tests that may do it":     {upgrade.Plan{ByMake: true}, true, "make test"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got := nextAfterUpgrade(&c.plan, c.generated); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The warning names the command that helps, where there is one.
func TestNotGenerated(t *testing.T) {
	for said, want := range map[string]string{
		"load packages: inconsistent vendoring in /shop:\n\ta@v1: is explicitly required": "load packages: inconsistent vendoring in /shop; run 'go mod vendor', or take -mod=vendor out of GOFLAGS",
		"a.go:3:8: no required module provides package b.c/d; to add it:\n\tgo get b.c/d": "a.go:3:8: no required module provides package b.c/d; run 'go mod tidy'",
		"a.go:3:8: undefined: b": "a.go:3:8: undefined: b; fix this",
	} {
		if got := notGenerated(errors.New(said)); got != "generated files are out of date: "+want+", then run 'mysdk generate'" {
			t.Errorf("%q: %s", said, got)
		}
	}
}

// Only a directory outside of any repository has nothing to lose: where git
// fails for another reason, nobody knows what an upgrade would be mixed with.
func TestCheckClean_Git(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	tests := map[string]struct{ key, value, want string }{
		"no repository":    {"GIT_CEILING_DIRECTORIES", "%s", ""},
		"of a locale":      {"LC_ALL", "de_DE.UTF-8", ""},
		"another's":        {"GIT_TEST_ASSUME_DIFFERENT_OWNER", "1", "dubious ownership"},
		"settings at odds": {"GIT_CONFIG_COUNT", "x", "GIT_CONFIG_COUNT"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			if c.want != "" {
				if out, err := exec.Command("git", "init", "--quiet", w.Dir).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			w.Env[c.key] = strings.ReplaceAll(c.value, "%s", filepath.Dir(w.Dir))
			f := &cli.Factory{Host: w.Host}
			err := checkClean(t.Context(), f, false)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(clierr.HintOf(err), "--force")) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
