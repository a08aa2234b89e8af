package upgrade

import (
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/rewrite/merge3"
)

// rewritten is a project's code after the rewriting of webhooks, by name, and
// what was noted. What is not Go afterwards fails the test.
func rewritten(t *testing.T, own bool, files map[string]string) (map[string]string, []string) {
	t.Helper()
	w := &rewriter{code: code{module: "example.com/shop", packages: map[string]*goPackage{}}, options: own, builders: true, own: own}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !w.add(name, []byte(files[name])) {
			t.Fatalf("%s is not Go:\n%s", name, files[name])
		}
	}
	w.rewrite()
	out := map[string]string{}
	for _, s := range w.sources {
		text := w.result(s)
		if !merge3.Valid(s.Name, text) {
			t.Errorf("%s is not Go any more:\n%s", s.Name, text)
		}
		out[s.Name] = string(merge3.Tidy(s.Name, s.Src, text))
	}
	return out, w.said()
}

// Where the builder is told its object, and what follows.
func TestWebhooks_Builders(t *testing.T) {
	const pre, post = "package v1\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n\nfunc f(mgr ctrl.Manager) error {\n\treturn ", "\n}\n"
	tests := map[string]struct {
		src, want, note string
	}{
		"all of it": {
			"ctrl.NewWebhookManagedBy(mgr).For(&v1.Shop{}).\n\t\tWithValidator(&V{}).\n\t\tWithDefaulter(&D{}).\n\t\tComplete()",
			"ctrl.NewWebhookManagedBy(mgr, &v1.Shop{}).\n\t\tWithCustomValidator(&V{}).\n\t\tWithCustomDefaulter(&D{}).\n\t\tComplete()", "",
		},
		"a comma behind the manager": {
			"ctrl.NewWebhookManagedBy(\n\t\tmgr,\n\t).For(&T{}).Complete()", "ctrl.NewWebhookManagedBy(\n\t\tmgr, &T{},\n\t).Complete()", "",
		},
		"on lines of their own": {"ctrl.NewWebhookManagedBy(mgr).\n\t\tFor(r).\n\t\tComplete()", "ctrl.NewWebhookManagedBy(mgr, r).\n\t\tComplete()", ""},
		"something before For":  {"ctrl.NewWebhookManagedBy(mgr).RecoverPanic(true).For(r).Complete()", "ctrl.NewWebhookManagedBy(mgr, r).RecoverPanic(true).Complete()", ""},
		"a comment above For": {
			"ctrl.NewWebhookManagedBy(mgr).\n\t\t// Mine.\n\t\tFor(r).\n\t\tComplete()", "ctrl.NewWebhookManagedBy(mgr).\n\t\t// Mine.\n\t\tFor(r).\n\t\tComplete()",
			"a.go:6: the webhook builder takes its object as second argument now, and no For: pass it there, and keep the comment",
		},
		"the new form":            {"ctrl.NewWebhookManagedBy(mgr, r).WithValidator(v).Complete()", "ctrl.NewWebhookManagedBy(mgr, r).WithValidator(v).Complete()", ""},
		"another builder":         {"ctrl.NewControllerManagedBy(mgr).For(r).Complete(r)", "ctrl.NewControllerManagedBy(mgr).For(r).Complete(r)", ""},
		"a function of that name": {"other.NewWebhookManagedBy(mgr).For(r).Complete()", "other.NewWebhookManagedBy(mgr).For(r).Complete()", ""},
		"without an object": {
			"ctrl.NewWebhookManagedBy(mgr).Complete()", "ctrl.NewWebhookManagedBy(mgr).Complete()",
			"a.go:6: the webhook builder takes its object as second argument now, and no For: pass it here",
		},
		"in a function that is called": {
			"g(func() error { return ctrl.NewWebhookManagedBy(mgr).For(r).Complete() }).Complete()",
			"g(func() error { return ctrl.NewWebhookManagedBy(mgr, r).Complete() }).Complete()", "",
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, notes := rewritten(t, false, map[string]string{"a.go": pre + c.src + post})
			if d := cmp.Diff(pre+c.want+post, got["a.go"]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if strings.Join(notes, "\n") != c.note {
				t.Errorf("noted %q, want %q", notes, c.note)
			}
		})
	}
}

// shopTypes is an API type that is its own webhook, as kubebuilder wrote it.
const shopTypes = `package v1

import (
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type Shop struct{ Size int }

// SetupWebhookWithManager serves.
func (r *Shop) SetupWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr).
		For(r).
		Complete()
}

// +kubebuilder:webhook:path=/mutate

var _ webhook.Defaulter = &Shop{}

// Default fills in.
func (r *Shop) Default() {
	if r.Size == 0 { r.Size   =   3 } // mine
}

var _ webhook.Validator = &Shop{}

func (r *Shop) ValidateCreate() (admission.Warnings, error)                   { return nil, nil }
func (r *Shop) ValidateUpdate(old runtime.Object) (admission.Warnings, error) { return nil, nil }
func (r *Shop) ValidateDelete() (admission.Warnings, error)                   { return nil, nil }
`

// A type that is its own webhook gets adapters, and nothing else of its file
// changes.
func TestWebhooks_Own(t *testing.T) {
	got, notes := rewritten(t, true, map[string]string{"api/v1/shop_webhook.go": shopTypes})
	want := strings.NewReplacer(
		"import (\n", "import (\n\t\"context\"\n\n",
		"\t\"sigs.k8s.io/controller-runtime/pkg/webhook\"\n", "",
		"(mgr).\n\t\tFor(r).\n", "(mgr, r).\n\t\tWithDefaulter(&ShopDefaulter{}).\n\t\tWithValidator(&ShopValidator{}).\n",
		"webhook.Defaulter = &Shop{}", "admission.Defaulter[*Shop] = &ShopDefaulter{}",
		"webhook.Validator = &Shop{}", "admission.Validator[*Shop] = &ShopValidator{}",
	).Replace(shopTypes) + shopAdapters
	if d := cmp.Diff(want, got["api/v1/shop_webhook.go"]); d != "" || len(notes) > 0 {
		t.Errorf("noted %q (-want +got):\n%s", notes, d)
	}
	// Today's form is left alone, so that a second time changes nothing.
	again, notes := rewritten(t, true, got)
	if d := cmp.Diff(got, again); d != "" || len(notes) > 0 {
		t.Errorf("the second time: noted %q (-first +second):\n%s", notes, d)
	}
	// A controller-runtime that knows nothing of types which are their own
	// webhooks has not called them so far.
	got, _ = rewritten(t, false, map[string]string{"api/v1/shop_webhook.go": shopTypes})
	if text := got["api/v1/shop_webhook.go"]; strings.Contains(text, "ShopDefaulter") || !strings.Contains(text, "(mgr, r).\n\t\tComplete()") {
		t.Errorf("from v0.20 on:\n%s", text)
	}
}

const shopAdapters = `
// ShopDefaulter fills in what the author of a Shop left out.
// +kubebuilder:object:generate=false
type ShopDefaulter struct{}

// Default changes the object before it is stored.
func (*ShopDefaulter) Default(_ context.Context, obj *Shop) error {
	obj.Default()
	return nil
}

// ShopValidator refuses what a Shop may not be.
// +kubebuilder:object:generate=false
type ShopValidator struct{}

// ValidateCreate is asked about new objects.
func (*ShopValidator) ValidateCreate(_ context.Context, obj *Shop) (admission.Warnings, error) {
	return obj.ValidateCreate()
}

// ValidateUpdate is asked about changes.
func (*ShopValidator) ValidateUpdate(_ context.Context, oldObj, newObj *Shop) (admission.Warnings, error) {
	return newObj.ValidateUpdate(oldObj)
}

// ValidateDelete is asked about deletions, once the verbs have delete.
func (*ShopValidator) ValidateDelete(_ context.Context, obj *Shop) (admission.Warnings, error) {
	return obj.ValidateDelete()
}
`

// The object of a builder is found however it is written, in any package of
// the project.
func TestWebhooks_Object(t *testing.T) {
	const types = "package v1\n\ntype Shop struct{}\n\nfunc (r *Shop) Default() {}\n\ntype Plain struct{}\n"
	const said = "which type the webhook is of cannot be told here"
	tests := map[string]struct {
		body string // of a function in another package, with mgr
		want string
		note string
	}{
		"a literal":           {"b(mgr).For(&v1.Shop{}).Complete()", "b(mgr, &v1.Shop{}).WithDefaulter(&v1.ShopDefaulter{}).Complete()", ""},
		"new":                 {"b(mgr).For(new(v1.Shop)).Complete()", "b(mgr, new(v1.Shop)).WithDefaulter(&v1.ShopDefaulter{}).Complete()", ""},
		"a typed nil":         {"b(mgr).For((*v1.Shop)(nil)).Complete()", "b(mgr, (*v1.Shop)(nil)).WithDefaulter(&v1.ShopDefaulter{}).Complete()", ""},
		"a variable":          {"s := &v1.Shop{}\n\tb(mgr).For(s).Complete()", "s := &v1.Shop{}\n\tb(mgr, s).Complete()", said},
		"a declared variable": {"var s v1.Shop\n\tb(mgr).For(&s).Complete()", "var s v1.Shop\n\tb(mgr, &s).Complete()", said},
		"a parameter":         {"func(s *v1.Shop) { b(mgr).For(s).Complete() }(nil)", "func(s *v1.Shop) { b(mgr, s).WithDefaulter(&v1.ShopDefaulter{}).Complete() }(nil)", ""},
		"the last call":       {"b(mgr).For(&v1.Shop{})", "b(mgr, &v1.Shop{}).WithDefaulter(&v1.ShopDefaulter{})", ""},
		"a defaulter it has":  {"b(mgr).For(&v1.Shop{}).WithDefaulter(d).Complete()", "b(mgr, &v1.Shop{}).WithCustomDefaulter(d).Complete()", ""},
		"no webhook":          {"b(mgr).For(&v1.Plain{}).Complete()", "b(mgr, &v1.Plain{}).Complete()", ""},
		"another module's":    {"b(mgr).For(&other.Shop{}).Complete()", "b(mgr, &other.Shop{}).Complete()", ""},
		"a call":              {"b(mgr).For(shop()).Complete()", "b(mgr, shop()).Complete()", said},
		"results of a call":   {"s, err := shop()\n\tb(mgr).For(s).Complete(err)", "s, err := shop()\n\tb(mgr, s).Complete(err)", said},
		"an interface":        {"func(s client.Object) { b(mgr).For(s).Complete() }(nil)", "func(s client.Object) { b(mgr, s).Complete() }(nil)", said},
		"both of its own":     {"b(mgr).For(shop()).WithDefaulter(d).WithValidator(v).Complete()", "b(mgr, shop()).WithCustomDefaulter(d).WithCustomValidator(v).Complete()", ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			src := func(body string) string {
				return "package hooks\n\nimport (\n\tother \"example.com/other/v1\"\n\t\"example.com/shop/api/v1\"\n\t\"sigs.k8s.io/controller-runtime/pkg/builder\"\n)\n\nfunc f(mgr any) {\n\t" + strings.Replace(body, "b(mgr", "builder.WebhookManagedBy(mgr", 1) + "\n}\n"
			}
			got, notes := rewritten(t, true, map[string]string{"api/v1/shop.go": types, "hooks/hooks.go": src(c.body)})
			if d := cmp.Diff(src(c.want), got["hooks/hooks.go"]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if (c.note == "") != (len(notes) == 0) || c.note != "" && !strings.HasPrefix(notes[0], "hooks/hooks.go:1") || !strings.Contains(strings.Join(notes, ""), c.note) {
				t.Errorf("noted %q, want %q", notes, c.note)
			}
			if adapted := strings.Contains(c.want, "ShopDefaulter"); adapted != strings.Contains(got["api/v1/shop.go"], "type ShopDefaulter struct{}") {
				t.Errorf("the types are\n%s", got["api/v1/shop.go"])
			}
		})
	}
}

// Methods count where they are those of the interfaces that were.
func TestWebhooks_Methods(t *testing.T) {
	const valid3 = "func (s *Shop) ValidateCreate() error { return nil }\nfunc (s *Shop) ValidateUpdate(o runtime.Object) error { return nil }\nfunc (s *Shop) ValidateDelete() error { return nil }\n"
	const setup = "func f() { ctrl.NewWebhookManagedBy(mgr).For(&Shop{}).Complete() }\n"
	tests := map[string]struct {
		decls, want, calls string
	}{
		"none":                   {"type Shop struct{}\n", "(mgr, &Shop{}).Complete", ""},
		"before warnings":        {"type Shop struct{}\n" + valid3, "(mgr, &Shop{}).WithValidator(&ShopValidator{}).Complete", "return nil, newObj.ValidateUpdate(oldObj)"},
		"one is missing":         {"type Shop struct{}\nfunc (s *Shop) ValidateCreate() error { return nil }\n", "(mgr, &Shop{}).Complete", ""},
		"of today":               {"type Shop struct{}\nfunc (*Shop) Default(ctx context.Context, s *Shop) error { return nil }\n", "(mgr, &Shop{}).Complete", ""},
		"by value":               {"type Shop struct{}\nfunc (s Shop) Default() {}\n", "(mgr, &Shop{}).WithDefaulter(&ShopDefaulter{}).Complete", "obj.Default()"},
		"embedded":               {"type Base struct{}\nfunc (b *Base) Default() {}\ntype Shop struct{ Base }\n", "(mgr, &Shop{}).WithDefaulter(&ShopDefaulter{}).Complete", "obj.Default()"},
		"embedded in each other": {"type Base struct{ *Shop }\nfunc (b *Base) Default() {}\ntype Shop struct{ *Base }\n", "(mgr, &Shop{}).WithDefaulter(&ShopDefaulter{}).Complete", "obj.Default()"},
		"hidden by another":      {"type Base struct{}\nfunc (b *Base) Default() {}\ntype Shop struct{ Base }\nfunc (s *Shop) Default(n int) {}\n", "(mgr, &Shop{}).Complete", ""},
		"a field, not embedded":  {"type Base struct{}\nfunc (b *Base) Default() {}\ntype Shop struct{ Base Base }\n", "(mgr, &Shop{}).Complete", ""},
		"a name that is taken": {
			"type Shop struct{}\nfunc (s *Shop) Default() {}\nfunc ShopDefaulter() {}\n",
			"(mgr, &Shop{}).WithDefaulter(&ShopWebhookDefaulter{}).Complete", "func (*ShopWebhookDefaulter) Default(_ context.Context",
		},
		"an import's name that is taken": {
			"type Shop struct{}\nfunc (s *Shop) Default() {}\nvar context int\n",
			"(mgr, &Shop{}).WithDefaulter(&ShopDefaulter{}).Complete", "Default(_ contextpkg.Context",
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			src := "package v1\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n\n" + c.decls + setup
			got, notes := rewritten(t, true, map[string]string{"api/v1/shop.go": src})
			text := got["api/v1/shop.go"]
			if !strings.Contains(text, "NewWebhookManagedBy"+c.want) || !strings.Contains(text, c.calls) || len(notes) > 0 {
				t.Errorf("noted %q, want %s and %s in\n%s", notes, c.want, c.calls, text)
			}
			for line := range strings.Lines(c.decls) {
				if !strings.Contains(text, line) {
					t.Errorf("%q is gone from\n%s", line, text)
				}
			}
		})
	}
}

// Methods of tests are nobody's webhooks, and a type may have its methods in
// another file than its declaration.
func TestWebhooks_Files(t *testing.T) {
	const head = "package v1\n\n"
	files := map[string]string{
		"api/v1/shop.go":       head + "type Shop struct{}\n\ntype Other struct{}\n",
		"api/v1/methods.go":    head + "func (s *Shop) Default() {}\n",
		"api/v1/other_test.go": head + "func (o *Other) Default() {}\n",
		"api/v1/setup.go":      head + "import ctrl \"sigs.k8s.io/controller-runtime\"\n\nfunc f(mgr ctrl.Manager, s *Shop, o *Other) {\n\tctrl.NewWebhookManagedBy(mgr).For(s).Complete()\n\tctrl.NewWebhookManagedBy(mgr).For(o).Complete()\n}\n",
	}
	got, notes := rewritten(t, true, files)
	if len(notes) > 0 {
		t.Errorf("noted %q", notes)
	}
	for name, want := range map[string]string{
		"api/v1/shop.go": files["api/v1/shop.go"], "api/v1/other_test.go": files["api/v1/other_test.go"],
		"api/v1/setup.go": strings.NewReplacer("(mgr).For(s)", "(mgr, s).WithDefaulter(&ShopDefaulter{})", "(mgr).For(o)", "(mgr, o)").Replace(files["api/v1/setup.go"]),
	} {
		if d := cmp.Diff(want, got[name]); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if text := got["api/v1/methods.go"]; !strings.Contains(text, "import \"context\"\n") || !strings.Contains(text, "type ShopDefaulter struct{}") {
		t.Errorf("the adapter is not beside the method:\n%s", text)
	}
}

// What a type says of itself is said of the adapter, and what needs the old
// interfaces otherwise is named with its place.
func TestWebhooks_Interfaces(t *testing.T) {
	const head = "package v1\n\nimport (\n\t\"sigs.k8s.io/controller-runtime/pkg/webhook\"\n\t\"sigs.k8s.io/controller-runtime/pkg/webhook/admission\"\n)\n\ntype Shop struct{}\n\nfunc (s *Shop) Default() {}\n\n"
	tests := map[string]struct{ src, want, note string }{
		"a value":        {"var _ webhook.Defaulter = Shop{}", "var _ admission.Defaulter[*Shop] = &ShopDefaulter{}", ""},
		"a typed nil":    {"var _ webhook.Defaulter = (*Shop)(nil)", "var _ admission.Defaulter[*Shop] = &ShopDefaulter{}", ""},
		"of admission":   {"var _ admission.Defaulter = new(Shop)", "var _ admission.Defaulter[*Shop] = &ShopDefaulter{}", ""},
		"in a group":     {"var (\n\t_ webhook.Defaulter = &Shop{}\n\tx = 1\n)", "\t_ admission.Defaulter[*Shop] = &ShopDefaulter{}\n\tx", ""},
		"of today":       {"var _ webhook.CustomDefaulter = d", "var _ webhook.CustomDefaulter = d", ""},
		"which it isn't": {"var _ webhook.Validator = &Shop{}", "var _ webhook.Validator = &Shop{}", "api/v1/shop.go:12: controller-runtime's webhook.Validator is no longer"},
		"not a type":     {"var _ webhook.Defaulter = shop()", "var _ webhook.Defaulter = shop()", "api/v1/shop.go:12: controller-runtime's webhook.Defaulter is no longer"},
		"a parameter":    {"func f(d webhook.Defaulter) {}", "func f(d webhook.Defaulter) {}", "api/v1/shop.go:12: controller-runtime's webhook.Defaulter is no longer"},
		"a handler":      {"var h = admission.DefaultingWebhookFor(s, x)", "var h = admission.DefaultingWebhookFor(s, x)", "api/v1/shop.go:12: controller-runtime has no admission.DefaultingWebhookFor any more"},
		"a comment":      {"// webhook.Defaulter it is.", "// webhook.Defaulter it is.", ""},
		"a variable":     {"func f(webhook struct{ Defaulter int }) int { return webhook.Defaulter }", "return webhook.Defaulter }", ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, notes := rewritten(t, true, map[string]string{"api/v1/shop.go": head + c.src + "\n"})
			if !strings.Contains(got["api/v1/shop.go"], c.want) {
				t.Errorf("no %s in\n%s", c.want, got["api/v1/shop.go"])
			}
			if said := strings.Join(notes, "\n"); (c.note == "") != (said == "") || !strings.HasPrefix(said, c.note) {
				t.Errorf("noted %q, want %q", notes, c.note)
			}
		})
	}
}

// The user's calls of the webhook builder follow controller-runtime, in any
// project.
func TestUpgrade_Webhooks(t *testing.T) {
	const file, broken = "api/v1/shop_webhook.go", "api/v1/broken.go"
	for was, adapted := range map[string]bool{"v0.22.0": false, "v0.19.0": true} {
		t.Run(was, func(t *testing.T) {
			s, table := otherTool(t, foreignProject)
			s.opts.peers = table
			s.edit("go.mod", runtimeModule+" v0.22.0", runtimeModule+" "+was)
			s.write(file, shopTypes)
			s.write(broken, "package v1\n\nfunc f() { ctrl.NewWebhookManagedBy(mgr).For(")
			p := s.upgrade()
			text := s.read(file)
			if !strings.Contains(text, "NewWebhookManagedBy(mgr, r)") || strings.Contains(text, "type ShopValidator struct{}") != adapted {
				t.Errorf("the webhooks are\n%s", text)
			}
			if !strings.Contains(text, "	if r.Size == 0 { r.Size   =   3 } // mine\n") {
				t.Errorf("the user's code was changed:\n%s", text)
			}
			if p.actions()[file] != Merged || len(p.Notes) != 1 || !strings.HasPrefix(p.Notes[0], broken+":1: ") {
				t.Errorf("%s, noted %q", p.actions()[file], p.Notes)
			}
			if p := s.upgrade(); !p.Empty() || len(p.Notes) > 0 {
				t.Errorf("the second time: %v, noted %q", p.Set.Paths(), p.Notes)
			}
		})
	}
	s := newShop(t)
	s.write(file, shopTypes)
	s.remove("go.mod")
	if p := s.upgrade(); p.actions()[file] != "" || s.read(file) != shopTypes {
		t.Errorf("without go.mod: %v", p.Files)
	}
}

// Controllers of one kind in two groups, and of one name, get names of their own
// where go.mod goes to a controller-runtime that refuses the second one.
func TestUpgrade_ControllerNames(t *testing.T) {
	for was, named := range map[string]bool{"v0.18.0": true, "v0.19.0": false} {
		s, table := otherTool(t, foreignProject)
		s.opts.peers = table
		s.edit("go.mod", runtimeModule+" v0.22.0", runtimeModule+" "+was)
		for _, group := range []string{"batch", "cache"} {
			s.write("internal/controller/"+group+"/job_controller.go", "package "+group+"\n\nimport (\n\tv1 \"example.com/shop/api/"+group+"/v1\"\n\tctrl \"sigs.k8s.io/controller-runtime\"\n)\n\n"+
				"func (r *JobReconciler) SetupWithManager(mgr ctrl.Manager) error {\n\treturn ctrl.NewControllerManagedBy(mgr).\n\t\tFor(&v1.Job{}).\n\t\tComplete(r)\n}\n")
		}
		p := s.upgrade()
		for _, group := range []string{"batch", "cache"} {
			file := "internal/controller/" + group + "/job_controller.go"
			if got := strings.Contains(s.read(file), ".\n\t\tNamed(\""+group+"-job\").\n\t\tFor("); got != named || (p.actions()[file] == Merged) != named {
				t.Errorf("from %s: %s %s:\n%s", was, file, p.actions()[file], s.read(file))
			}
		}
	}
}

// Random edits of the user's, outside of the calls that are rewritten, are
// there afterwards, byte for byte and in their order.
func TestWebhooks_RandomEdits(t *testing.T) {
	for seed := range 200 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		lines := strings.SplitAfter(shopTypes, "\n")
		var out, mine []string
		for i, line := range lines {
			out = append(out, line)
			if i > 8 && i < len(lines)-2 && r.IntN(4) == 0 && !strings.Contains(line, "NewWebhook") && !strings.Contains(line, "For(") {
				text := []string{"// mine %s", "\t\t// mine  %s", "/* mine %s */", "//mine%s\t"}[r.IntN(4)]
				text = strings.Replace(text, "%s", string(rune('a'+r.IntN(26)))+string(rune('A'+i%26)), 1)
				out, mine = append(out, text+"\n"), append(mine, text)
			}
		}
		name := path.Join("api/v1", "shop_webhook.go")
		got, notes := rewritten(t, true, map[string]string{name: strings.Join(out, "")})
		rest := got[name]
		for _, text := range append(mine, "\tif r.Size == 0 { r.Size   =   3 } // mine\n") {
			if strings.Contains(text, "r.Size") {
				rest = got[name] // it has its own place among the others
			}
			_, after, ok := strings.Cut(rest, text)
			if !ok {
				t.Fatalf("seed %d: lost %q in\n%s", seed, text, got[name])
			}
			rest = after
		}
		if !strings.Contains(got[name], "WithDefaulter(&ShopDefaulter{})") || len(notes) > 0 {
			t.Fatalf("seed %d: noted %q\n%s", seed, notes, got[name])
		}
		again, _ := rewritten(t, true, got)
		if d := cmp.Diff(got, again); d != "" {
			t.Fatalf("seed %d, the second time (-first +second):\n%s", seed, d)
		}
	}
}
