package lint

import (
	"go/format"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/scanner"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	"sigs.k8s.io/kube-api-linter/pkg/config"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
)

// corpus are the linters whose test data kube-api-linter checks with the default
// settings.
var corpus = strings.Fields(`arrayofstruct commentstart conditions defaultorrequired defaults duplicatemarkers integers jsontags maxlength minlength
	nobools nodurations nofloats nomaps nonpointerstructs nonullable nophase notimestamp optionalfields optionalorrequired requiredfields
	ssatags statusoptional statussubresource uniquemarkers`)

// corpusRounds are the settings of all the others, see testdata/corpus.yaml.
func corpusRounds(t *testing.T) []map[string]settings {
	t.Helper()
	data, err := os.ReadFile("testdata/corpus.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rounds []map[string]settings
	if err := yaml.Unmarshal(data, &rounds); err != nil {
		t.Fatal(err)
	}
	for _, name := range corpus {
		rounds[0][name+"/a"] = settings{}
	}
	return rounds
}

// corpusProject is a module with a package, called like its linter, for each of the
// directories of a round.
func corpusProject(t *testing.T, round map[string]settings) generate.Options {
	t.Helper()
	h, err := host.System()
	if err != nil {
		t.Fatal(err)
	}
	h.Dir = t.TempDir()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kube-api-linter").Output()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", own, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := mod.AddModuleStmt("corpus"); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		name = filepath.Join(h.Dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := mod.Format()
	if err != nil {
		t.Fatal(err)
	}
	write("go.mod", data)
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", sums)
	for linter := range round {
		// Its own packages are a, or b and so on, and some that this imports.
		name, dir := path.Split(linter)
		name = path.Clean(name)
		var pkg []byte
		src := filepath.Join(strings.TrimSpace(string(out)), "pkg/analysis", name, "testdata/src")
		for from, to := range map[string]string{dir: name, dir + "/pkg": name + "/pkg", dir + "/" + dir + dir: name + "/" + dir + dir, "externaltypes": name + "/externaltypes"} {
			files, err := filepath.Glob(filepath.Join(src, from, "*.go*"))
			if err != nil || from == dir && len(files) == 0 {
				t.Fatalf("%s: %v, %v", name, files, err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if from == dir {
					pkg = packageClause.Find(data)
				}
				imports := strings.NewReplacer(`"`+dir+"/", `"corpus/`+name+"/", `"externaltypes"`, `"corpus/`+name+`/externaltypes"`)
				write(filepath.Join(to, filepath.Base(file)), []byte(imports.Replace(string(data))))
			}
		}
		write(filepath.Join(name, "doc.go"), append([]byte("// +kubebuilder:object:generate=true\n"), pkg...))
	}
	return generate.Options{Host: h, Dir: h.Dir}
}

var packageClause = regexp.MustCompile(`(?m)^package \w+\n`)

// wants are the patterns behind // want in a file, by line.
func wants(t *testing.T, file string) map[int][]*regexp.Regexp {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[int][]*regexp.Regexp{}
	for i, line := range strings.Split(string(data), "\n") {
		_, list, ok := strings.Cut(strings.ReplaceAll(line, "//want ", "// want "), "// want ")
		if !ok {
			continue
		}
		var s scanner.Scanner
		s.Init(strings.NewReader(list))
		for tok := s.Scan(); tok != scanner.EOF; tok = s.Scan() {
			if tok == scanner.String || tok == scanner.RawString {
				text, err := strconv.Unquote(s.TokenText())
				if err != nil {
					t.Fatal(err)
				}
				out[i+1] = append(out[i+1], regexp.MustCompile(text))
			}
		}
	}
	return out
}

// TestCorpus finds in the test data of kube-api-linter what its own driver does.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks packages")
	}
	n := 0
	for _, round := range corpusRounds(t) {
		n += corpusRound(t, round)
	}
	if n < 1000 {
		t.Errorf("%d findings", n)
	}
}

// corpusRound checks one round, and returns how much is found.
func corpusRound(t *testing.T, round map[string]settings) (n int) {
	t.Helper()
	opts := corpusProject(t, round)
	c := Config{LintersConfig: config.LintersConfig{}}
	for name := range forCRDs() {
		c.LintersConfig[name] = settings{}
	}
	var names []string
	for linter, s := range round {
		name := path.Dir(linter)
		names = append(names, name)
		if len(s) > 0 {
			c.LintersConfig[name] = s
		}
	}
	c.Linters.Enable = names
	found, err := run(t.Context(), opts, c)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]map[int][]*regexp.Regexp{}
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(opts.Dir, name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			left[name+"/"+filepath.Base(file)] = wants(t, file)
		}
	}
	for _, f := range found {
		if filepath.Dir(f.File) != f.Rule {
			continue // another linter's data
		}
		n++
		at := left[f.File][f.Line]
		matched := false
		for i, want := range at {
			if matched = want.MatchString(f.Text); matched {
				left[f.File][f.Line] = append(at[:i:i], at[i+1:]...)
				break
			}
		}
		if !matched {
			t.Errorf("%s:%d: %s", f.File, f.Line, f.Text)
		}
	}
	for file, lines := range left {
		for line, patterns := range lines {
			for _, p := range patterns {
				t.Errorf("%s:%d: nothing matches %s", file, line, p)
			}
		}
	}
	fixesOfCorpus(t, opts.Dir, round, found)
	return n
}

// notFixed are those of the corpus of which a run applies less than is offered: the
// first of several fixes of a finding, and of two that touch.
var notFixed = strings.Fields("conditions/f namingconventions/a noreferences/a noreferences/b notimestamp/a optionalfields/b optionalfields/c")

// fixesOfCorpus applies what each linter offers to its own data.
func fixesOfCorpus(t *testing.T, dir string, round map[string]settings, found []generate.Finding) {
	t.Helper()
	for linter := range round {
		if slices.Contains(notFixed, linter) {
			continue
		}
		name := path.Dir(linter)
		own := slices.DeleteFunc(slices.Clone(found), func(f generate.Finding) bool { return f.Rule != name || filepath.Dir(f.File) != name })
		read := func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, file)) }
		set, err := Fix(read, own)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range set.Paths() {
			want, err := os.ReadFile(filepath.Join(dir, file+".golden"))
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if want, err = format.Source(want); err != nil {
				t.Errorf("%s: golden: %v", file, err)
				continue
			}
			got, _ := set.Get(file)
			if diff := cmp.Diff(string(want), string(got.Data)); diff != "" {
				t.Errorf("%s: %s: want (-), got (+):\n%s", linter, file, diff)
			}
		}
	}
}
