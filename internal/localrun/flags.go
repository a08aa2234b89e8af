package localrun

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// mainFacts is what the main package's source tells about the operator.
type mainFacts struct {
	flags         map[string]bool // names that it defines
	leads         string          // its flag for leader election that is on without it
	webhookSwitch bool            // it looks at ENABLE_WEBHOOKS, as kubebuilder's scaffold does
}

// scanMain reads the main package. Only flags that are known to exist may be
// passed: a program that does not know a flag ends at once. Files that do not
// parse are skipped: the build has more to say about them.
func scanMain(h host.Host, dir string) (mainFacts, error) {
	found := mainFacts{flags: map[string]bool{}}
	entries, err := h.Files.ReadDir(dir)
	if err != nil {
		return found, fmt.Errorf("read the operator's main package: %w", err)
	}
	for _, e := range entries {
		// The go command passes over what editors leave, such as dangling links as locks.
		if strings.ContainsAny(e.Name()[:1], "._") || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		data, err := h.Files.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return found, fmt.Errorf("read the operator's main package: %w", err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), data, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		found.scan(file)
	}
	return found, nil
}

// scan is what the main package tells, and the flags that the operator is given
// when it is deployed: those it knows, wherever it defines them.
func (r *run) scan() (mainFacts, error) {
	found, err := scanMain(r.Host, filepath.Join(r.Dir, filepath.FromSlash(r.plan.mainPkg)))
	for _, a := range r.Deployed.Args {
		if name, _, _ := strings.Cut(a, "="); strings.HasPrefix(name, "-") {
			found.flags[strings.TrimLeft(name, "-")] = true
		}
	}
	return found, err
}

// defines matches the functions of packages flag and pflag that define one.
var defines = lazy.Delayed(`^((String|Bool|Int|Int64|Uint|Uint64|Float64|Duration|Text)(Var)?P?|(Var|Func|BoolFunc)P?)$`)

// scan looks at calls only: a flag defined by a library is not ours to set.
func (f *mainFacts) scan(file *ast.File) {
	for call := range goedit.Each[*ast.CallExpr](file) {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && defines.MatchString(sel.Sel.Name) {
			f.add(call.Args)
		}
	}
	asks := func(l *ast.BasicLit) bool { return l.Value == `"ENABLE_WEBHOOKS"` }
	f.webhookSwitch = f.webhookSwitch || goedit.Has(file, asks)
}

// add takes the flag's name from a call of package flag or pflag: the first
// text among the first two arguments.
func (f *mainFacts) add(args []ast.Expr) {
	for i, a := range args[:min(2, len(args))] {
		if name, ok := goedit.StringLiteral(a); ok {
			f.flags[name] = true
			if on, ok := args[min(i+1, len(args)-1)].(*ast.Ident); ok && on.Name == "true" && slices.Contains(leaderFlags, name) {
				f.leads = name
			}
			return
		}
	}
}

// leaderFlags turn leader election on: today's, and that of before kubebuilder v3.
var leaderFlags = []string{"leader-elect", "enable-leader-election"}

// operatorArgs are the operator's arguments: addresses that collide with no
// other process, leader election where it is wanted, then the user's own.
func operatorArgs(found mainFacts, o Options) ([]string, error) {
	var args []string
	for _, f := range []struct{ name, value string }{
		{"metrics-bind-address", "0"},
		{"metrics-addr", "0"}, // its name before kubebuilder v3
		{"health-probe-bind-address", "127.0.0.1:0"},
		{"health-addr", "127.0.0.1:0"},
	} {
		if found.flags[f.name] && !given(o.OperatorArgs, f.name) {
			args = append(args, "--"+f.name+"="+f.value)
		}
	}
	if o.LeaderElect {
		i := slices.IndexFunc(leaderFlags, func(n string) bool { return found.flags[n] })
		if i < 0 {
			return nil, clierr.Usagef("pass the operator's own flag with --operator-flags",
				"--leader-elect: the operator's main package defines no flag --leader-elect")
		}
		args = append(args, "--"+leaderFlags[i])
	} else if found.leads != "" && !given(o.OperatorArgs, found.leads) {
		args = append(args, "--"+found.leads+"=false")
	}
	return append(args, o.OperatorArgs...), nil
}

// given reports whether args set the flag of that name.
func given(args []string, name string) bool {
	_, is := valueOf(args, name)
	return is
}

// valueOf is the value that args give the flag of that name, if they do.
func valueOf(args []string, name string) (value string, given bool) {
	for i, a := range args {
		key, v, ok := strings.Cut(a, "=")
		if !strings.HasPrefix(key, "-") || strings.TrimLeft(key, "-") != name {
			continue
		}
		if value, given = v, true; !ok && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value, given
}

// Inspect looks for the main package of the project in dir, as the go command calls
// it there, and for the names of the flags that it defines. That there is none is a
// usage error.
func Inspect(h host.Host, dir string) (pkg string, flags map[string]bool, err error) {
	if pkg, err = mainpkg.Find(h.Files, dir); err != nil {
		return "", nil, err
	}
	found, err := scanMain(h, filepath.Join(dir, filepath.FromSlash(pkg)))
	return pkg, found.flags, err
}
