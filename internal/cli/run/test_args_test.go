package run

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

func TestTestArgs(t *testing.T) {
	for name, c := range map[string]struct {
		args              []string
		want              []string // of go
		controllers, keep bool
	}{
		"nothing":             {nil, []string{"test", "./..."}, false, false},
		"flags only":          {[]string{"-v", "-run", "TestX"}, []string{"test", "./...", "-v", "-run", "TestX"}, false, false},
		"a package":           {[]string{"./api/...", "-v"}, []string{"test", "./api/...", "-v"}, false, false},
		"value behind =":      {[]string{"-run=TestX", "-count=1"}, []string{"test", "./...", "-run=TestX", "-count=1"}, false, false},
		"ours are ours":       {[]string{"--controllers", "-v"}, []string{"test", "./...", "-v"}, true, false},
		"keep needs one":      {[]string{"--keep", "./x"}, []string{"test", "./x"}, true, true},
		"the test binary's":   {[]string{"./x", "-args", "--keep"}, []string{"test", "./x", "-args", "--keep"}, false, false},
		"only theirs":         {[]string{"-v", "-args", "x"}, []string{"test", "./...", "-v", "-args", "x"}, false, false},
		"two dashes, a value": {[]string{"--run", "X", "--timeout", "5m"}, []string{"test", "./...", "--run", "X", "--timeout", "5m"}, false, false},

		"a flag of the binary":    {[]string{"-ginkgo.v", "-ginkgo.focus", "Pod"}, []string{"test", "./...", "-ginkgo.v", "-ginkgo.focus", "Pod"}, false, false},
		"a package before that":   {[]string{"./x", "-ginkgo.focus", "Pod"}, []string{"test", "./x", "-ginkgo.focus", "Pod"}, false, false},
		"the binary's prefix":     {[]string{"-test.run", "X", "./x"}, []string{"test", "-test.run", "X", "./x"}, false, false},
		"global ones are ours":    {[]string{"-q", "--verbose", "--color", "never", "-v", "--color=always"}, []string{"test", "./...", "-v"}, false, false},
		"ours, turned off":        {[]string{"--keep=false", "--controllers=false"}, []string{"test", "./..."}, false, false},
		"ours, turned on":         {[]string{"--keep=true"}, []string{"test", "./..."}, true, true},
		"values are not ours":     {[]string{"-run", "--keep", "-tags", "-h"}, []string{"test", "./...", "-run", "--keep", "-tags", "-h"}, false, false},
		"a value without =":       {[]string{"-vet", "off", "-trace", "t.out"}, []string{"test", "./...", "-vet", "off", "-trace", "t.out"}, false, false},
		"a switch, and a package": {[]string{"-race", "-failfast", "./x"}, []string{"test", "-race", "-failfast", "./x"}, false, false},
		"never from the cache":    {[]string{"--kubernetes", "1.34", "-v"}, []string{"test", "./...", "-count=1", "-v"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &cli.Factory{}
			var o *testOptions
			test := testCommand(func(_ context.Context, read *testOptions) error { o = read; return nil })
			f.BindGlobals(test.PersistentFlags())
			test.SetArgs(append([]string{}, c.args...)) // nil would be those of this program
			if err := test.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, o.goArgs([]string{everyPackage})); d != "" {
				t.Errorf("arguments (-want +got):\n%s", d)
			}
			if o.controllers != c.controllers || o.keep != c.keep {
				t.Errorf("controllers %t, keep %t", o.controllers, o.keep)
			}
		})
	}
}

// TestTestChdir: the directory is mysdk's, which looks for test/e2e there.
func TestTestChdir(t *testing.T) {
	for name, args := range map[string][]string{
		"go's":       {"-C", "tools", "-v"},
		"with =":     {"-C=tools", "-v"},
		"ours":       {"--chdir", "tools", "-v"},
		"ours and =": {"--chdir=tools", "-v"},
		"behind":     {"-v", "--keep", "-C", "tools"},
	} {
		t.Run(name, func(t *testing.T) {
			f, o := &cli.Factory{}, &testOptions{}
			c := testCommand(nil)
			f.BindGlobals(c.Flags())
			if _, err := o.read(c, args); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"test", "./...", "-v"}, o.goArgs([]string{everyPackage})); d != "" || o.chdir != "tools" {
				t.Errorf("in %q, arguments (-want +got):\n%s", o.chdir, d)
			}
		})
	}
}

func TestTestEnv(t *testing.T) {
	for name, c := range map[string]struct{ env, args, want []string }{
		"no cgo":         {[]string{"A=b"}, nil, []string{"A=b", "K=v", "CGO_ENABLED=0"}},
		"the user's cgo": {[]string{"CGO_ENABLED=1"}, nil, []string{"CGO_ENABLED=1", "K=v"}},
		"set, but empty": {[]string{"CGO_ENABLED="}, nil, []string{"CGO_ENABLED=", "K=v"}},
		"race needs cgo": {nil, []string{"-race"}, []string{"K=v"}},
		"two dashes":     {nil, []string{"--race"}, []string{"K=v"}},
		"race by value":  {nil, []string{"-race=true"}, []string{"K=v"}},
		"no race":        {nil, []string{"-race=false"}, []string{"K=v", "CGO_ENABLED=0"}},
		"a test's name":  {nil, []string{"-run", "-race"}, []string{"K=v", "CGO_ENABLED=0"}},
		"the binary's":   {nil, []string{"-args", "-race"}, []string{"K=v", "CGO_ENABLED=0"}},
		"a sanitizer":    {nil, []string{"-asan"}, []string{"K=v"}},
		"-args not ours": {nil, []string{"./x"}, []string{"K=v", "CGO_ENABLED=0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, testEnv(c.env, c.args, "K=v")); d != "" {
				t.Errorf("environment (-want +got):\n%s", d)
			}
		})
	}
}

// goSays stands in for a go command that fails, and says why on stderr.
type goSays struct {
	host.Exec
	text string
}

func (g goSays) Start(_ context.Context, c host.Cmd) (host.Process, error) {
	_, err := io.WriteString(c.Stderr, g.text)
	return failed{}, err
}

type failed struct{ host.Process }

func (failed) Wait() error { return errors.New("exit status 1") }

// TestHints: what to do depends on why the tests failed. Whoever pastes a
// controller over that of the scaffold is told what becomes of its test.
func TestHints(t *testing.T) {
	const (
		test     = "package controller\n\nfunc (f *cartTest) runPods(size int32) {}\n"
		own      = "package controller\n\nconst cartImage = \"cart\"\n"
		pasted   = "package controller\n"
		inTest   = "# shop/internal/controller [shop/internal/controller.test]\ninternal/controller/cart_controller_test.go:9:2: undefined: cartImage\n"
		failing  = "run one of them with 'mysdk test ./... -run NAME -v'"
		building = "correct what the go command says above"
	)
	for name, c := range map[string]struct{ controller, said, hint string }{
		"failing tests":        {own, "", failing},
		"a first run":          {own, "go: downloading a.io/b v1.0.0\n", failing},
		"as it was scaffolded": {own, inTest, building},
		"pasted code":          {pasted, inTest, "replace or delete internal/controller/cart_controller_test.go: it tests"},
		"fails elsewhere":      {pasted, "", failing},
		"broken elsewhere":     {pasted, "# shop/api/v1\napi/v1/cart_types.go:9:2: undefined: x\n", building},
		"no such package":      {own, "# ./nope\nstat /shop/nope: directory not found\n", building},
		"no such module":       {own, "# shop\na.go:3:8: no required module provides package a.io/b; to add it:\n\tgo get a.io/b\n", "run 'go mod tidy'"},
		"vendoring":            {own, "go: inconsistent vendoring in /shop:\n", "run 'go mod vendor'"},
		"a module not tidy":    {pasted, "go: updates to go.mod needed; to update it:\n\tgo mod tidy\n", "run 'go mod tidy'"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			w.Exec = goSays{text: filepath.FromSlash(c.said)}
			for file, text := range map[string]string{"cart_controller.go": c.controller, "cart_controller_test.go": test} {
				full := w.Path("internal/controller/" + file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			err := goTest(t.Context(), &cli.Factory{Host: w.Host}, &testOptions{}, []string{everyPackage})
			if hint := clierr.HintOf(err); !strings.HasPrefix(hint, c.hint) {
				t.Errorf("the hint is %q, want %q", hint, c.hint)
			}
			if w.Err.String() != filepath.FromSlash(c.said) {
				t.Errorf("printed %q", w.Err)
			}
		})
	}
}
