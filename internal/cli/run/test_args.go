package run

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
)

// read takes our own flags, global ones among them, out of args, and reports
// whether help is wanted. What stands behind -args is the test binary's.
func (o *testOptions) read(c *cobra.Command, args []string) (help bool, err error) {
	o.args = nil
	for i := 0; i < len(args); i++ {
		name, value, isSet := ownFlag(args[i])
		switch arg := args[i]; {
		case arg == "--help", arg == "-h":
			return true, nil
		case arg == "-args", arg == "--args":
			o.args = append(o.args, args[i:]...)
			i = len(args)
		case name == "" && takesValue(arg) && i+1 < len(args):
			o.args = append(o.args, arg, args[i+1])
			i++
		case name == "":
			o.args = append(o.args, arg)
		default:
			switch f := c.Flags().Lookup(name); {
			case isSet:
			case f.NoOptDefVal != "":
				value = f.NoOptDefVal
			case i+1 < len(args):
				i++
				value = args[i]
			default:
				return false, clierr.Usagef("see 'mysdk test --help'", "--%s needs a value", name)
			}
			if name == "chdir" {
				o.chdir = value
			} else if err := c.Flags().Set(name, value); err != nil {
				return false, cli.FlagError(c, err)
			}
		}
	}
	o.controllers = o.controllers || o.keep
	return false, nil
}

// ownFlag takes a flag of mysdk's own apart. The name is empty for any other
// word: go test's -v is not --verbose. Its -C means what ours does.
func ownFlag(word string) (name, value string, isSet bool) {
	name, value, isSet = strings.Cut(word, "=")
	switch name {
	case "-q":
		name = "--quiet"
	case "-C", "--C":
		name = "--chdir"
	}
	name, ok := strings.CutPrefix(name, "--")
	if !ok || !slices.Contains([]string{"controllers", "keep", "kubernetes", "quiet", "verbose", "color", "chdir"}, name) {
		return "", "", false
	}
	return name, value, isSet
}

// goArgs puts the packages where none is named. They come before the flags:
// behind one that the go command does not know, they would be the test binary's.
func (o *testOptions) goArgs(packages []string) []string {
	args, rest := splitTestArgs(o.args)
	if namesPackage(args) {
		packages = nil
	}
	if len(o.kubernetes) > 0 {
		// The go command does not know what the API server reads, and would repeat
		// what it has seen of another version.
		packages = append(slices.Clone(packages), "-count=1")
	}
	return slices.Concat([]string{"test"}, packages, args, rest)
}

// splitTestArgs parts what is go test's from what is the test binary's own.
func splitTestArgs(args []string) (own, rest []string) {
	if i := slices.IndexFunc(args, func(arg string) bool { return arg == "-args" || arg == "--args" }); i >= 0 {
		return args[:i], args[i:]
	}
	return args, nil
}

// namesPackage reports whether args name a package, by go test's own rule: what
// follows a flag that it does not know is the test binary's.
func namesPackage(args []string) bool {
	known := goTestFlags()
	for i := 0; i < len(args); i++ {
		f := parseGoFlag(args[i])
		hasValue, ok := known[f.Name]
		switch {
		case f.Name == "":
			return true
		case !ok:
			return false
		case hasValue && !f.isSet:
			i++
		}
	}
	return false
}

// takesValue reports whether a flag of go test is followed by its value.
func takesValue(word string) bool {
	f := parseGoFlag(word)
	return goTestFlags()[f.Name] && !f.isSet
}

// goFlag is a word of the go command's command line.
type goFlag struct {
	Name, value string // no name: not a flag
	isSet       bool   // the value stands behind a =
}

// parseGoFlag takes a word apart. Flags of the test binary may be written with
// its own prefix.
func parseGoFlag(word string) goFlag {
	if !strings.HasPrefix(word, "-") {
		return goFlag{}
	}
	name, value, isSet := strings.Cut(strings.TrimLeft(word, "-"), "=")
	return goFlag{Name: strings.TrimPrefix(name, "test."), value: value, isSet: isSet}
}

// goTestFlags are the flags of go build and go test, and whether each takes a value.
func goTestFlags() map[string]bool {
	const switches = `a n race msan asan cover v work x buildvcs json linkshared modcacherw trimpath
		artifacts benchmem c failfast fullpath i short`
	const withValue = `C o p covermode coverpkg asmflags buildmode compiler gccgoflags gcflags installsuffix ldflags
		mod modfile overlay pgo pkgdir tags toolexec debug-actiongraph debug-trace debug-runtime-trace
		bench benchtime blockprofile blockprofilerate count coverprofile cpu cpuprofile exec fuzz fuzzminimizetime
		fuzztime list memprofile memprofilerate mutexprofile mutexprofilefraction outputdir parallel run shuffle
		skip timeout trace vet vettool`
	set := map[string]bool{}
	for _, name := range strings.Fields(switches) {
		set[name] = false
	}
	for _, name := range strings.Fields(withValue) {
		set[name] = true
	}
	return set
}

// testEnv is the environment of the tests. They are compiled without cgo, as
// operators are, so that the packages compiled for one serve the other; the
// race detector needs cgo. CGO_ENABLED stays as the user has set it, be it to nothing.
func testEnv(env, args []string, more ...string) []string {
	isSet := slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "CGO_ENABLED=") })
	if isSet || needsCgo(args) {
		return slices.Concat(env, more)
	}
	return slices.Concat(env, more, []string{"CGO_ENABLED=0"})
}

// needsCgo reports whether a flag asks for what Go has by cgo only: the race
// detector and the two sanitizers.
func needsCgo(args []string) bool {
	on := map[string]bool{}
	for _, words := range flagsOf(args, "race", "msan", "asan") {
		f := parseGoFlag(words[0])
		value, err := strconv.ParseBool(f.value)
		on[f.Name] = !f.isSet || err == nil && value
	}
	return on["race"] || on["msan"] || on["asan"]
}

// listFlags are the flags on which it depends what packages there are.
func listFlags(args []string) []string {
	return slices.Concat(flagsOf(args, "tags", "mod", "modfile", "overlay", "race", "msan", "asan")...)
}

// flagsOf are those of go test's flags that have one of the names, each with its value.
func flagsOf(args []string, names ...string) [][]string {
	own, _ := splitTestArgs(args)
	var flags [][]string
	for len(own) > 0 {
		n := 1
		if takesValue(own[0]) {
			n = min(2, len(own))
		}
		if slices.Contains(names, parseGoFlag(own[0]).Name) {
			flags = append(flags, own[:n])
		}
		own = own[n:]
	}
	return flags
}
