package upgrade

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/relayout"
)

// deployed is the kustomization that gets deployed.
const deployed = "config/default"

// object is one of those that a kustomization builds.
type object map[string]any

// Verify builds the project's kustomizations without and with the plan's set
// and compares the objects. What appears, goes or changes its rights is added
// to the plan. The error names the kustomization that would not build any more,
// the selector that would change or the Service that would lose its pods: such
// a plan must not be written.
func (o Options) Verify(ctx context.Context, p *Plan) error {
	dirs, err := o.kustomizations()
	if err != nil {
		return err
	}
	const hint = "see the change with 'mysdk upgrade --dry-run', and restore in %s what the build needs"
	built := o.listedIn(deployed) // as a part of it
	for _, dir := range dirs {
		if slices.Contains(built, dir) {
			continue
		}
		before, err := o.build(ctx, fileset.Set{}, dir)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		after, broken := o.build(ctx, p.Set, dir)
		switch {
		case err != nil && broken != nil:
			p.Notes = append(p.Notes, fmt.Sprintf("%s/kustomization.yaml:1: does not build, as before: %v", dir, err))
		case err != nil: // it builds now
		case broken != nil:
			return clierr.Failedf(fmt.Sprintf(hint, dir), "nothing was written: the upgraded project would not build: %w", broken)
		case dir == deployed:
			p.Objects = compareObjects(before, after)
			if err := sameSelection(before, after); err != nil {
				return clierr.Failedf(fmt.Sprintf(hint, "config"), "nothing was written: %w", err)
			}
		}
	}
	return nil
}

// kustomizations are the directories below config that have one.
func (o Options) kustomizations() ([]string, error) {
	names, err := relayout.NewTree(o.Files, o.Dir).Names()
	var dirs []string
	for _, name := range names {
		if strings.HasPrefix(name, "config/") && path.Base(name) == "kustomization.yaml" {
			dirs = append(dirs, path.Dir(name))
		}
	}
	return dirs, err
}

// listedIn are the directories that a kustomization builds with its own.
func (o Options) listedIn(dir string) []string {
	text, err := relayout.LF{Files: o.Files}.ReadFile(o.path(path.Join(dir, "kustomization.yaml")))
	if err != nil {
		return nil
	}
	var out []string
	for _, entry := range resources(text) {
		out = append(out, path.Join(dir, entry))
	}
	return out
}

func (o Options) build(ctx context.Context, set fileset.Set, dir string) (map[string]object, error) {
	text, err := kustomize.Build(ctx, kustomize.Source{Dir: o.Dir, Overlay: set, Files: o.Files}, dir)
	if err != nil {
		return nil, err
	}
	out := map[string]object{}
	for _, o := range objectsIn(text) {
		out[o.text("kind")+" "+o.text("metadata", "name")] = o
	}
	return out, nil
}

// compareObjects says which objects appear or go, and whose rights change.
func compareObjects(before, after map[string]object) []string {
	var out []string
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		was, is := before[id], after[id]
		switch {
		case was == nil:
			out = append(out, "adds "+id)
		case is == nil:
			out = append(out, "removes "+id)
		case !reflect.DeepEqual(was.rights(), is.rights()):
			out = append(out, "changes the rights of "+id)
		}
	}
	return out
}

// rights is what a role grants or a binding binds, nil for other kinds.
func (o object) rights() []any {
	return slices.DeleteFunc([]any{o["rules"], o["roleRef"], o["subjects"]}, func(v any) bool { return v == nil })
}

// sameSelection makes sure that no Deployment changes its selector and that
// each Service selects the pods that it selected.
func sameSelection(before, after map[string]object) error {
	for _, id := range slices.Sorted(maps.Keys(before)) {
		was, is := before[id], after[id]
		if is == nil {
			continue
		}
		kind, _, _ := strings.Cut(id, " ")
		switch kind {
		case "Deployment", "StatefulSet", "DaemonSet":
			if a, b := was.labels("spec", "selector", "matchLabels"), is.labels("spec", "selector", "matchLabels"); !maps.Equal(a, b) {
				return fmt.Errorf("%s would get another selector, which Kubernetes refuses to change: %v instead of %v", id, b, a)
			}
		case "Service":
			if lost := lostPods(was, is, before, after); lost != "" {
				return fmt.Errorf("%s would no longer select the pods of %s", id, lost)
			}
		}
	}
	return nil
}

// lostPods is a Deployment whose pods a Service selected and no longer does,
// empty for none.
func lostPods(was, is object, before, after map[string]object) string {
	const kind = "Deployment "
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if strings.HasPrefix(id, kind) && after[id] != nil && selects(was, before[id]) && !selects(is, after[id]) {
			return id
		}
	}
	return ""
}

// selects says whether a Service selects the pods of a Deployment.
func selects(service, deployment object) bool {
	selector := service.labels("spec", "selector")
	pods := deployment.labels("spec", "template", "metadata", "labels")
	for key, value := range selector {
		if pods[key] != value {
			return false
		}
	}
	return len(selector) > 0
}

// objectsIn are the mappings in a YAML file, as far as it can be parsed.
func objectsIn(text []byte) []object {
	var out []object
	for _, doc := range decodeAll(text) {
		if o, ok := doc.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}

// text is what a path of fields leads to, empty where that is none.
func (o object) text(fields ...string) string {
	s, _, _ := unstructured.NestedString(o, fields...)
	return s
}

func (o object) labels(fields ...string) map[string]string {
	out := map[string]string{}
	v, _, _ := unstructured.NestedFieldNoCopy(o, fields...) // an error is that something on the way is no mapping
	m, _ := v.(map[string]any)
	for key, value := range m {
		out[key] = fmt.Sprint(value)
	}
	return out
}

// nameLabel is the label that today's scaffold selects by and others did not.
const nameLabel = "app.kubernetes.io/name"

// keepSelectors takes the label out of today's selectors by which what another
// tool has deployed does not select: the selector of a Deployment cannot
// change, and what selects its pods selects those with the labels they have.
func (p *planner) keepSelectors() {
	if p.foreign == nil {
		return
	}
	for _, o := range objectsIn(p.original("config/manager/manager.yaml")) {
		labels := o.labels("spec", "selector", "matchLabels")
		if o.text("kind") != "Deployment" || len(labels) == 0 || labels[nameLabel] != "" {
			continue
		}
		for name, text := range p.after {
			if strings.HasPrefix(name, "config/") && isYAML(name) {
				p.after[name] = trimSelectors(text)
			}
		}
	}
}

// trimSelectors removes the label from the selectors of a manifest of ours.
func trimSelectors(text []byte) []byte {
	var out []byte
	selector := -1 // its column, while it lasts
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " ")
		column := len(line) - len(rest)
		if column <= selector {
			selector = -1
		}
		key, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(":"))
		switch string(key) {
		case "matchLabels", "selector":
			selector = column
		case nameLabel:
			if selector >= 0 {
				continue
			}
		}
		out = append(out, line...)
	}
	return out
}
