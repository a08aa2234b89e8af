package upgrade

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// Whatever the file is: without a change on one side the result is the other
// side, the same change on both sides is made once, and a merge that is merged
// again does not change.
func TestMerge_Laws(t *testing.T) {
	s := newShop(t)
	before, after := s.files(), s.today()
	r := rand.New(rand.NewPCG(7, 7))
	for _, name := range slices.Sorted(maps.Keys(before)) {
		theirs, there := after[name]
		if !there || relayout.IsGenerated(name) || name == "go.mod" || name == "go.sum" {
			continue
		}
		for range hosttest.Rounds(24) {
			s.write(name, before[name])
			insertLine(s, r, name, 1)
			mine := s.read(name)
			if !merge3.Valid(name, []byte(mine)) {
				continue
			}
			for law, c := range map[string][4]string{
				"nobody changed it":    {before[name], before[name], before[name], before[name]},
				"only the user did":    {before[name], mine, before[name], mine},
				"only the scaffold":    {before[name], before[name], theirs, theirs},
				"both did the same":    {before[name], mine, mine, mine},
				"the user was first":   {before[name], theirs, theirs, theirs},
				"nothing in common":    {"", mine, "", mine},
				"taken over long ago":  {theirs, mine, theirs, mine},
				"the user put it back": {theirs, before[name], theirs, before[name]},
			} {
				merged, wanted := merge3.Merge(name, []byte(c[0]), []byte(c[1]), []byte(c[2]))
				if d := cmp.Diff(c[3], string(merged)); d != "" || !bytes.Equal(merged, wanted) {
					t.Errorf("%s, %s: conflict %v (-want +got):\n%s", name, law, !bytes.Equal(merged, wanted), d)
				}
			}
			merged, _ := merge3.Merge(name, []byte(before[name]), []byte(mine), []byte(theirs))
			again, _ := merge3.Merge(name, []byte(before[name]), merged, []byte(theirs))
			if d := cmp.Diff(string(merged), string(again)); d != "" {
				t.Errorf("%s: the second time (-first +second):\n%s", name, d)
			}
		}
		s.write(name, before[name])
	}
}

// A reject holds what the merge left out, and says nothing where it left out
// nothing.
func TestMerge_Wanted(t *testing.T) {
	tests := map[string]struct{ name, base, mine, theirs, merged, wanted string }{
		"a line of text":      {"README", "a\nb\nc\n", "a\nmine\nc\n", "a\ntheirs\nc\n", "a\nmine\nc\n", "a\ntheirs\nc\n"},
		"a value":             {"a.yaml", "a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 3\nb: 3\n", "a: 2\nb: 3\n", "a: 3\nb: 3\n"},
		"a target":            {"Makefile", "a:\n\tx\nb:\n\ty\n", "a:\n\tmine\nb:\n\ty\n", "a:\n\ttheirs\nb:\n\tz\n", "a:\n\tmine\nb:\n\tz\n", "a:\n\ttheirs\nb:\n\tz\n"},
		"a variable":          {"Makefile", "A = 1\nB = 1\n", "A = 2\nB = 1\n", "A = 3\nB = 2\n", "A = 2\nB = 2\n", "A = 3\nB = 2\n"},
		"a function":          {"a.go", "package a\n\nfunc f() { a() }\n\nfunc g() { a() }\n", "package a\n\nfunc f() { mine() }\n\nfunc g() { a() }\n", "package a\n\nfunc f() { b() }\n\nfunc g() { b() }\n", "package a\n\nfunc f() { mine() }\n\nfunc g() { b() }\n", "package a\n\nfunc f() { b() }\n\nfunc g() { b() }\n"},
		"taken out, changed":  {"a.yaml", "a: 1\nb: 1\n", "b: 1\n", "a: 2\nb: 2\n", "b: 2\n", "b: 2\n"},
		"changed, taken out":  {"a.yaml", "a: 1\nb: 1\n", "a: 2\nb: 1\n", "b: 1\n", "a: 2\nb: 1\n", "b: 1\n"},
		"what does not parse": {"a.yaml", "a: 1\n", "a: [\n", "a: 2\n", "a: [\n", "a: 2\n"},
		"patterns":            {".gitignore", "a\nb\n", "a\nb\nmine\n", "b\nnew\n", "b\nnew\nmine\n", "b\nnew\nmine\n"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			merged, wanted := merge3.Merge(c.name, []byte(c.base), []byte(c.mine), []byte(c.theirs))
			if d := cmp.Diff([]string{c.merged, c.wanted}, []string{string(merged), string(wanted)}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if patch := merge3.Reject(c.name, merged, wanted); (len(patch) == 0) != bytes.Equal(merged, wanted) {
				t.Errorf("the reject is %q", patch)
			}
		})
	}
}

// FuzzRewriter: whatever Go code is brought to today's controller-runtime is Go
// afterwards, and stays as it is the second time.
func FuzzRewriter(f *testing.F) {
	for _, src := range []string{
		shopTypes,
		"package a\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n\nvar o = ctrl.Options{Port: 1, Host: h, Namespace: n}\n",
		"package a\n\nimport \"fmt\"\n\nfunc f(s string) { fmt.Printf(s) }\n",
		"package a\n\nimport c \"sigs.k8s.io/controller-runtime\"\n\ntype T struct{ *T }\n\nfunc (T) Default() {}\n\nfunc f() { c.NewWebhookManagedBy(m).\n/* a */ For(&T{}); c.NewWebhookManagedBy(m).For((*T)(nil)).For(x) }\n",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		const name = "api/v1/a.go"
		out := src
		for round := range 2 {
			w := &rewriter{code: code{module: "example.com/shop", packages: map[string]*goPackage{}}, options: true, builders: true, own: true}
			if !w.add(name, []byte(out)) {
				if round == 0 {
					return
				}
				t.Fatalf("not Go any more:\n%s\nwas\n%s", out, src)
			}
			w.rewrite()
			next := string(w.result(w.sources[0]))
			if round == 1 && next != out {
				t.Fatalf("the second time:\n%s\nwas\n%s", cmp.Diff(out, next), src)
			}
			out = next
		}
		if !merge3.Valid(name, []byte(out)) {
			t.Fatalf("not Go any more:\n%s\nwas\n%s", out, src)
		}
	})
}
