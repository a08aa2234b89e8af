package adopt

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const bareMain = `package main

import (
	"os"
)

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
}

func main() {
	mgr := setUp()
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		os.Exit(1)
	}
	if err := mgr.Start(ctx); err != nil {
		os.Exit(1)
	}
}
`

func TestMainMarkers(t *testing.T) {
	full := strings.NewReplacer(
		"\"os\"\n", "\"os\"\n\t// +kubebuilder:scaffold:imports\n",
		"(scheme))\n", "(scheme))\n\t// +kubebuilder:scaffold:scheme\n",
		"\tif err := mgr.Add", "\t// +kubebuilder:scaffold:builder\n\tif err := mgr.Add",
	).Replace(bareMain)
	noChecks := strings.NewReplacer("AddHealthzCheck", "Other").Replace(bareMain)
	for name, c := range map[string]struct {
		text, want string
		added      []string
	}{
		"all are missing":   {bareMain, full, []string{"imports", "scheme", "builder"}},
		"all are there":     {full, full, nil},
		"older spelling":    {strings.ReplaceAll(full, "// +", "//+"), strings.ReplaceAll(full, "// +", "//+"), nil},
		"one is missing":    {strings.Replace(full, "\t// +kubebuilder:scaffold:scheme\n", "", 1), full, []string{"scheme"}},
		"broken code":       {"package main\nfunc {", "package main\nfunc {", nil},
		"no place for them": {"package main\n\nimport \"os\"\n", "package main\n\nimport \"os\"\n", nil},
		"above the start": {noChecks, strings.NewReplacer(
			"\"os\"\n", "\"os\"\n\t// +kubebuilder:scaffold:imports\n",
			"(scheme))\n", "(scheme))\n\t// +kubebuilder:scaffold:scheme\n",
			"\tif err := mgr.Start", "\t// +kubebuilder:scaffold:builder\n\tif err := mgr.Start",
		).Replace(noChecks), []string{"imports", "scheme", "builder"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, added := mainMarkers(c.text)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("text (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.added, added); d != "" {
				t.Errorf("markers (-want +got):\n%s", d)
			}
		})
	}
}

func TestResourcesMarker(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"missing":      {"resources:\n- a.yaml\n- b.yaml\npatches: []\n", "resources:\n- a.yaml\n- b.yaml\n# +kubebuilder:scaffold:x\npatches: []\n"},
		"there":        {"resources:\n- a.yaml\n#+kubebuilder:scaffold:x\n", "resources:\n- a.yaml\n#+kubebuilder:scaffold:x\n"},
		"no resources": {"patches: []\n", "patches: []\n"},
		"on one line":  {"resources: [a.yaml]\n", "resources: [a.yaml]\n"},
		"indented":     {"resources:\n  - a.yaml\n", "resources:\n  - a.yaml\n# +kubebuilder:scaffold:x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, added := resourcesMarker(c.text, "x")
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if (len(added) == 1) != (c.text != c.want) {
				t.Errorf("reported %v", added)
			}
		})
	}
}

// FuzzMainMarkers: what is added never makes code that parses into code that
// does not, and a second run has nothing to add.
func FuzzMainMarkers(f *testing.F) {
	f.Add(bareMain)
	f.Add("package main\nfunc main() { mgr.Start() }\n")
	f.Add("package main; func init() { a.AddToScheme(b) }; func main() { x(); mgr.Start() }")
	f.Fuzz(func(t *testing.T, text string) {
		once, added := mainMarkers(text)
		if len(added) == 0 {
			return
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "main.go", once, parser.SkipObjectResolution); err != nil {
			t.Errorf("%v in\n%s", err, once)
		}
		twice, again := mainMarkers(once)
		if len(again) > 0 || twice != once {
			t.Errorf("a second run adds %v to\n%s", again, once)
		}
	})
}
