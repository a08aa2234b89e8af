package bundle

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

func TestWithResource(t *testing.T) {
	const entry = "bases/shop.clusterserviceversion.yaml"
	for name, c := range map[string]struct{ in, want, err string }{
		"there":           {in: "resources:\n- " + entry + "\n", want: "resources:\n- " + entry + "\n"},
		"there, in a way": {in: "resources: [./" + entry + "]\n", want: "resources: [./" + entry + "]\n"},
		"commented out":   {in: "resources:\n# note\n#- " + entry + "\n- ../default\n", want: "resources:\n# note\n- " + entry + "\n- ../default\n"},
		"indented":        {in: "resources:\n  # - " + entry + " \n  - ../default\n", want: "resources:\n  - " + entry + "\n  - ../default\n"},
		"not there":       {in: "a: b\nresources: # all\n# note\n  - ../default\n", want: "a: b\nresources: # all\n  - " + entry + "\n# note\n  - ../default\n"},
		"no resources":    {in: "namePrefix: x\n", want: "namePrefix: x\nresources:\n- " + entry + "\n"},
		"in one line":     {in: "resources: [../default]\n", err: "k.yaml: its resources are written in a way"},
		"broken":          {in: "resources: [\n", err: "k.yaml:1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := withResource([]byte(c.in), "k.yaml", entry)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || clierr.HintOf(err) == "" {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// project is a Scaffold on files in memory.
func project(files map[string]string) Scaffold {
	return Scaffold{Package: "shop", From: ManifestsConfigDir, To: ManifestsConfigDir, KustomizationNames: []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, Read: func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}
}

// apply renders and takes the changes over into the files.
func apply(t *testing.T, files map[string]string, descriptions ...Description) []string {
	t.Helper()
	set, _, err := project(files).Render(descriptions)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range set.Paths() {
		f, _ := set.Get(name)
		if files[name] = string(f.Data); f.Removed {
			delete(files, name)
		}
	}
	return set.Paths()
}

const (
	baseName   = "config/manifests/bases/shop.clusterserviceversion.yaml"
	recordName = "config/manifests/bases/shop.generated.yaml"
	listName   = "config/manifests/kustomization.yaml"
)

func TestScaffold(t *testing.T) {
	files := map[string]string{"config/default/kustomization.yaml": "", "config/samples/kustomization.yaml": ""}
	cart := said("Cart", object{"displayName": "Cart"})
	if diff := cmp.Diff([]string{baseName, recordName, listName}, apply(t, files, cart)); diff != "" {
		t.Error(diff)
	}
	if want := "# Everything that an OLM bundle is made of.\nresources:\n- bases/shop.clusterserviceversion.yaml\n- ../default\n- ../samples\n"; files[listName] != want {
		t.Errorf("kustomization:\n%s", files[listName])
	}
	if got := apply(t, files, cart); got != nil {
		t.Errorf("a second run writes %v", got)
	}
	// What the author edits stays, in the place and with the comments it has.
	files[baseName] = strings.Replace(files[baseName], "displayName: Shop\n", "# for people\n  displayName: \"Mine\"\n", 1)
	edited := files[baseName]
	if got := apply(t, files, cart); got != nil {
		t.Errorf("an edited base is written again: %v", got)
	}
	apply(t, files, said("Cart", object{"displayName": "Trolley"}))
	if want := strings.Replace(edited, "displayName: Cart", "displayName: Trolley", 1); files[baseName] != want {
		t.Error(cmp.Diff(want, files[baseName]))
	}
	if got := apply(t, files); got == nil || strings.Contains(files[baseName], "Trolley") || files[recordName] != "" {
		t.Errorf("without the type, %v is written:\n%s%s", got, files[baseName], files[recordName])
	}
}

// TestScaffoldNames: kustomizations have other names, too.
func TestScaffoldNames(t *testing.T) {
	const other = "config/manifests/Kustomization"
	files := map[string]string{other: "resources:\n- ../default\n"}
	if diff := cmp.Diff([]string{other, baseName}, apply(t, files)); diff != "" {
		t.Error(diff)
	}
	if want := "resources:\n- bases/shop.clusterserviceversion.yaml\n- ../default\n"; files[other] != want {
		t.Errorf("kustomization:\n%s", files[other])
	}
	files = map[string]string{"config/default/kustomization.yml": ""}
	if apply(t, files); !strings.HasSuffix(files[listName], "- ../default\n") {
		t.Errorf("kustomization:\n%s", files[listName])
	}
}

// TestScaffoldKeepsComments: those of the owned CRDs, and a licence in a document of
// its own.
func TestScaffoldKeepsComments(t *testing.T) {
	const licence = "# Copyright me.\n---\n"
	for name, replace := range map[string]*strings.Replacer{
		"of the file": strings.NewReplacer(),
		"of the owned CRDs": strings.NewReplacer("    - displayName: Cart\n", "    # the best\n    - displayName: Cart # for now\n",
			"      specDescriptors:\n      - description: How many.\n", "      specDescriptors:\n      # not few\n      - description: How many.\n"),
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			about := func(title string) []Description {
				return []Description{said("Box", object{"displayName": "Box"}), said("Cart", object{"displayName": title, "specDescriptors": []any{object{"path": "size", "description": "How many."}}})}
			}
			apply(t, files, about("Cart")...)
			files[baseName] = licence + replace.Replace(files[baseName])
			want := strings.ReplaceAll(files[baseName], "displayName: Cart", "displayName: Trolley")
			apply(t, files, about("Trolley")...)
			if d := cmp.Diff(want, files[baseName]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestScaffoldUnrecorded: of a base that another tool wrote, it is told once
// which texts are not those of the types.
func TestScaffoldUnrecorded(t *testing.T) {
	files := map[string]string{}
	apply(t, files, said("Cart", object{"displayName": "Cart", "description": "A cart."}))
	delete(files, recordName)
	changed := []Description{said("Cart", object{"displayName": "Cart", "description": "A new cart."})}
	for _, first := range []bool{true, false} {
		_, m, err := project(files).Render(changed)
		if err != nil {
			t.Fatal(err)
		}
		if m.Unrecorded != first || len(m.Kept) != 1 || !strings.Contains(m.Kept[0], "description is that of the base") {
			t.Errorf("first time %v: unrecorded %v, kept %q", first, m.Unrecorded, m.Kept)
		}
		apply(t, files, changed...)
	}
	if !strings.Contains(files[baseName], "A cart.") {
		t.Errorf("the text of the base is gone:\n%s", files[baseName])
	}
	if _, m, err := project(map[string]string{}).Render(changed); err != nil || m.Unrecorded {
		t.Errorf("a new base is unrecorded, %v", err)
	}
}

func TestScaffoldElsewhere(t *testing.T) {
	files := map[string]string{}
	apply(t, files, said("Cart", object{"displayName": "Cart"}))
	s := project(files)
	s.To = "out"
	set, _, err := s.Render([]Description{said("Cart", object{"displayName": "Cart"})})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"out/bases/shop.clusterserviceversion.yaml", "out/bases/shop.generated.yaml", "out/kustomization.yaml"}, set.Paths()); diff != "" {
		t.Error(diff)
	}
}

func TestScaffoldErrors(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		err   string
	}{
		"no CSV":        {map[string]string{baseName: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}, "there is no ClusterServiceVersion"},
		"broken base":   {map[string]string{baseName: "a: [\n"}, baseName + ":"},
		"two objects":   {map[string]string{baseName: "# mine\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: keep}\n---\n" + someCSV}, baseName + ": the file of the base has 2 objects"},
		"two CSVs":      {map[string]string{baseName: someCSV + "---\n" + someCSV}, baseName + ": the file of the base has 2 objects"},
		"broken record": {map[string]string{recordName: "- a\n"}, recordName},
		"broken list":   {map[string]string{listName: "resources: {\n"}, listName},
	} {
		t.Run(name, func(t *testing.T) {
			set, _, err := project(c.files).Render(nil)
			if err == nil || !strings.Contains(err.Error(), c.err) || clierr.HintOf(err) == "" || set.Len() > 0 {
				t.Errorf("error %v, %d files", err, set.Len())
			}
		})
	}
	s := project(nil)
	s.Package = "No Label"
	if _, _, err := s.Render(nil); clierr.CodeOf(err) != clierr.CodeUsage {
		t.Errorf("a bad package: %v", err)
	}
	s = project(nil)
	broken := errors.New("disk")
	s.Read = func(string) ([]byte, error) { return nil, broken }
	if _, _, err := s.Render(nil); !errors.Is(err, broken) {
		t.Errorf("a broken disk: %v", err)
	}
}

// TestEmptyDocuments: a licence above the first --- is no reason to lose the
// rest of the file.
func TestEmptyDocuments(t *testing.T) {
	const head = "# Licensed to all.\n---\n"
	for name, text := range map[string]string{
		"before":      head + someCSV,
		"with, after": "# mine\n" + someCSV + "---\n",
		"two before":  "---\n" + head + strings.Replace(someCSV, "spec:", "spec: # here", 1),
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{baseName: text}
			apply(t, files, said("Cart", object{"displayName": "Cart"}))
			got, err := ParseBase([]byte(files[baseName]), baseName)
			if err != nil {
				t.Fatal(err)
			}
			if got.GetName() != "shop.v0.1.0" || textAt(got.Object, "spec", "futureField") != "kept" || len(ownedOf(got)) != 1 {
				t.Errorf("the base is\n%s", files[baseName])
			}
			if strings.Contains(text, "spec: # here") && !strings.Contains(files[baseName], "spec: # here") {
				t.Errorf("a comment is lost:\n%s", files[baseName])
			}
		})
	}
}

func TestPlaceholders(t *testing.T) {
	base := NewBase("shop", true)
	if diff := cmp.Diff([]string{"description", "provider", "maintainers", "links", "icon"}, Placeholders("shop", base)); diff != "" {
		t.Error(diff)
	}
	put(base.Object, "written", "spec", "description")
	put(base.Object, []any{object{"base64data": "eA=="}}, "spec", "icon")
	if diff := cmp.Diff([]string{"provider", "maintainers", "links"}, Placeholders("shop", base)); diff != "" {
		t.Error(diff)
	}
}

// TestCommentsStay: a base with comments is edited in place, whatever of the
// owned CRDs it has.
func TestCommentsStay(t *testing.T) {
	const head = "# mine\napiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: shop.v0.0.0 # for now\n"
	const owned = "    owned:\n    - displayName: Cart\n      kind: Cart\n      name: carts.shop.example.com\n      version: v1\n"
	for name, c := range map[string]struct{ spec, want string }{
		"no spec":  {"", "spec:\n  customresourcedefinitions:\n" + owned},
		"no CRDs":  {"spec:\n  # people read this\n  displayName: 'Mine'\n", "spec:\n  # people read this\n  displayName: 'Mine'\n  customresourcedefinitions:\n" + owned},
		"none yet": {"spec:\n  customresourcedefinitions: {}\n", "spec:\n  customresourcedefinitions:\n" + owned},
		"nothing":  {"spec:\n  customresourcedefinitions:\n", "spec:\n  customresourcedefinitions:\n" + owned},
		"some":     {"spec:\n  customresourcedefinitions:\n    # of others\n    required:\n    - kind: A\n    owned: []\n", "spec:\n  customresourcedefinitions:\n    # of others\n    required:\n    - kind: A\n" + owned},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{baseName: head + c.spec}
			apply(t, files, said("Cart", object{"displayName": "Cart"}))
			if diff := cmp.Diff(head+c.want, files[baseName]); diff != "" {
				t.Error(diff)
			}
			apply(t, files)
			if strings.Contains(files[baseName], "Cart") || !strings.HasPrefix(files[baseName], head) {
				t.Errorf("without the type:\n%s", files[baseName])
			}
		})
	}
}
