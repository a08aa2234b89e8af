package controllernames

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// source is a file that builds a controller by these calls.
func source(function, calls string) string {
	return "package controller\n\nimport (\n\tappsv1 \"k8s.io/api/apps/v1\"\n\tctrl \"sigs.k8s.io/controller-runtime\"\n\n\tbatchv1 \"example.com/shop/api/batch/v1\"\n\tmyappsv1 \"example.com/shop/api/apps.x/v1\"\n)\n\n" +
		"func " + function + " error {\n\treturn ctrl.NewControllerManagedBy(mgr)" + calls + "\n}\n"
}

func TestNames(t *testing.T) {
	const job, cron = "(r *JobReconciler) SetupWithManager(mgr ctrl.Manager)", "(r *CronReconciler) SetupWithManager(mgr ctrl.Manager)"
	for name, test := range map[string]struct {
		a, b   string
		namesA string // calls that are named, empty where nothing changes
		namesB string
	}{
		"other kinds": {a: source(job, ".For(&batchv1.Job{}).Complete(r)"), b: source(cron, ".For(&batchv1.Cron{}).Complete(r)")},
		"one kind of two groups": {
			a: source(job, ".\n\t\tFor(&appsv1.Deployment{}).\n\t\tOwns(&batchv1.Job{}).\n\t\tComplete(r)"), b: source(cron, ".For(new(myappsv1.Deployment)).Complete(r)"),
			namesA: "ctrl.NewControllerManagedBy(mgr).\n\t\tNamed(\"apps-deployment\").\n\t\tFor(", namesB: "ctrl.NewControllerManagedBy(mgr).Named(\"apps.x-deployment\").For(",
		},
		"one kind, two reconcilers": {
			a: source(job, ".For(&batchv1.Job{}).Complete(r)"), b: source(cron, ".For(&batchv1.Job{}).Complete(r)"),
			namesB: "ctrl.NewControllerManagedBy(mgr).Named(\"cron\").For(",
		},
		"a comment between": {
			a: source(job, ". // the pods\n\t\tFor(&appsv1.Deployment{}).Complete(r)"), b: source(cron, ".For(&myappsv1.Deployment{}).Complete(r)"),
			namesA: "ctrl.NewControllerManagedBy(mgr). Named(\"apps-deployment\"). // the pods\n\t\tFor(", namesB: "Named(\"apps.x-deployment\")",
		},
		"by functions": {
			a: source("SetupJobs(mgr ctrl.Manager)", ".For(&batchv1.Job{}).Complete(r)"), b: source("SetupTests(mgr ctrl.Manager)", ".For(&batchv1.Job{}).Complete(r)"),
			namesA: "Named(\"setupjobs\")", namesB: "Named(\"setuptests\")",
		},
		"a type of the package itself": {a: source(job, ".For(&Job{}).Complete(r)"), b: source(cron, ".For(&batchv1.Job{}).Complete(r)"), namesB: "Named(\"cron\")"},
		"named already":                {a: source(job, ".For(&batchv1.Job{}).Named(\"a\").Complete(r)"), b: source(cron, ".Named(\"b\").For(&batchv1.Job{}).Complete(r)")},
		"named by a value":             {a: source(job, ".For(&batchv1.Job{}).Named(n).Complete(r)"), b: source(cron, ".For(&batchv1.Job{}).Complete(r)")},
		"of no kind":                   {a: source(job, ".Complete(r)"), b: source(cron, ".For(object).Complete(r)")},
		"kinds at run time":            {a: source(job, ".For(&unstructured.Unstructured{}).Complete(r)"), b: source(cron, ".For(&unstructured.Unstructured{}).Complete(r)")},
		"of the same owner":            {a: source(job, ".For(&batchv1.Job{}).Complete(r)"), b: source(job, ".For(&batchv1.Job{}).Complete(r)")},
		"no builder of ours":           {a: strings.ReplaceAll(source(job, ".For(&batchv1.Job{}).Complete(r)"), "ctrl.", "other."), b: source(cron, ".For(&batchv1.Job{}).Complete(r)")},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]*goedit.File{}
			var all []Builder
			for file, text := range map[string]string{"internal/controller/a.go": test.a, "internal/controller/b.go": test.b} {
				f, err := goedit.Parse(file, []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				files[file] = f
			}
			for _, file := range slices.Sorted(maps.Keys(files)) {
				all = append(all, Find(files[file])...)
			}
			names := Choose(all)
			for file, want := range map[string]string{"internal/controller/a.go": test.namesA, "internal/controller/b.go": test.namesB} {
				f := files[file]
				names.Apply(f)
				got, err := f.Apply()
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case want == "" && string(got) != string(f.Src):
					t.Errorf("%s (-was +is):\n%s", file, cmp.Diff(string(f.Src), string(got)))
				case !strings.Contains(string(got), want):
					t.Errorf("%s has no %s:\n%s", file, want, got)
				}
			}
		})
	}
}
