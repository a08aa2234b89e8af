package merge3

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is merged imports what it uses: imports and those who need them are
// merged apart from each other.
func TestMerge_Imports(t *testing.T) {
	const (
		head  = "package x\n\nimport (\n\t\"fmt\"\n)\n"
		withO = "package x\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n"
		main  = "\nfunc main() {\n\tfmt.Println()\n}\n"
		main2 = "\nfunc main() {\n\tfmt.Println(1)\n}\n"
		own   = "\nfunc mine() {\n\tfmt.Println(os.Args)\n}\n"
		args  = "\nfunc old() {\n\tfmt.Println(os.Args)\n}\n"
		old   = "\nfunc old() {\n\tfmt.Println()\n}\n"
		v3    = "package x\n\nimport (\n\t\"fmt\"\n\n\t\"go.yaml.in/yaml/v3\"\n)\n"
		yamlF = "\nfunc y() {\n\tfmt.Println(yaml.Node{})\n}\n"
		side  = "package x\n\nimport (\n\t\"fmt\"\n\t_ \"os\"\n)\n"
		alias = "package x\n\nimport (\n\t\"fmt\"\n\tsys \"os\"\n)\n"
		aOwn  = "\nfunc mine() {\n\tfmt.Println(sys.Args)\n}\n"
	)
	tests := map[string]struct{ base, mine, theirs, want string }{
		"the user's code needs what the scaffold no longer does": {withO + main + args, withO + main + args + own, head + main2 + old, withO + main2 + old + own},
		"by a name of its own":                    {alias + main + aOwn, alias + main + aOwn + own2(aOwn), head + main2, alias + main2 + own2(aOwn)},
		"it came for code that the user removed":  {head + main + old, head + main, withO + main2 + args, head + main2},
		"it came for code that is there":          {head + main + old, head + main + old, withO + main2 + args, withO + main2 + args},
		"the scaffold begins to use it elsewhere": {withO + main + args, head + main, withO + main2 + "\nfunc new() {\n\t_ = os.Args\n}\n" + args, withO + main2 + "\nfunc new() {\n\t_ = os.Args\n}\n"},
		"of a module's third version":             {v3 + main + yamlF, v3 + main + yamlF + "\nfunc z() {\n\t_ = yaml.Node{}\n}\n", head + main2, v3 + main2 + "\nfunc z() {\n\t_ = yaml.Node{}\n}\n"},
		"for its effect":                          {head + main, head + main + "\n// Mine.\n", side + main, side + main + "\n// Mine.\n"},
		"wrong before":                            {head + main, head + main + own, head + main2, head + main2 + own},
		"not used by the user before":             {head + main, withO + main, head + main2, withO + main2},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			merged, wanted := Merge("x.go", []byte(c.base), []byte(c.mine), []byte(c.theirs))
			if d := cmp.Diff([]string{c.want, c.want}, []string{string(merged), string(wanted)}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			again, _ := Merge("x.go", []byte(c.base), merged, []byte(c.theirs))
			if d := cmp.Diff(string(merged), string(again)); d != "" {
				t.Errorf("the second time (-first +second):\n%s", d)
			}
		})
	}
}

// own2 is a function like another one.
func own2(text string) string { return strings.Replace(text, "mine", "second", 1) }
