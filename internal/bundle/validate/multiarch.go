package validate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Labels of a CSV that say where the operator runs, as label=supported.
const (
	archLabel = "operatorframework.io/arch."
	osLabel   = "operatorframework.io/os."
)

// use is an image of the bundle and what is asked of it.
type use struct {
	image    string
	field    string
	affinity []Platform // that its pods are bound to; none is any
	manager  bool       // the operator itself, whose platforms should be labelled
}

// multiArch holds the platforms of the bundle's images, as their registries
// tell them, against the labels and the node affinities. It is operator-sdk's
// multiarch check without a container tool.
func (r *run) multiArch(ctx context.Context) {
	if r.bundle.CSV == nil || r.Platforms == nil {
		return
	}
	archs, systems := r.labelled(archLabel), r.labelled(osLabel)
	wanted := platforms(systems, archs)
	known := map[string][]Platform{}
	for _, u := range r.uses() {
		have, asked := known[u.image]
		if !asked {
			var err error
			if have, err = r.Platforms(ctx, u.image); err != nil {
				if ctx.Err() != nil {
					return
				}
				r.add(Warning, "multiarch/unknown", r.bundle.CSVFile, u.field, fmt.Sprintf("the platforms of %s are not known: %v", u.image, err), "push the image, or log in where it is")
			}
			known[u.image] = have
		}
		if len(have) > 0 {
			r.compare(u, have, wanted, archs, systems)
		}
	}
}

// compare reports platforms that are promised and missing, and, of the
// operator's image, of such that are there and not promised.
func (r *run) compare(u use, have, wanted []Platform, archs, systems []string) {
	level := Warning
	if r.Select.Strict {
		level = Error
	}
	for _, w := range wanted {
		bound := len(u.affinity) > 0 && !slices.Contains(u.affinity, w)
		if !slices.Contains(have, w) && !bound {
			r.add(level, "multiarch/missing", r.bundle.CSVFile, u.field,
				fmt.Sprintf("%s is not for %s/%s, which the CSV says is supported; it is for %s", u.image, w.OS, w.Architecture, names(have)),
				"build the image for it with 'mysdk image build --platform', or take the label away")
		}
	}
	for _, a := range u.affinity {
		if !slices.Contains(have, a) {
			r.add(level, "multiarch/affinity", r.bundle.CSVFile, u.field,
				fmt.Sprintf("its pods may run on %s/%s, and %s is for %s", a.OS, a.Architecture, u.image, names(have)), "bind the pods to the platforms of the image")
		}
	}
	if !u.manager {
		return
	}
	missing := map[string]bool{}
	for _, p := range have {
		if !slices.Contains(orElse(archs, "amd64"), p.Architecture) {
			missing[archLabel+p.Architecture] = true
		}
		if !slices.Contains(orElse(systems, "linux"), p.OS) {
			missing[osLabel+p.OS] = true
		}
	}
	for _, l := range slices.Sorted(maps.Keys(missing)) {
		r.add(Warning, "multiarch/label", r.bundle.CSVFile, "metadata.labels", fmt.Sprintf("%s is for a platform that the CSV does not name: the label %s is missing", u.image, l), "add '"+l+": supported' to the labels of the base of the CSV")
	}
}

func names(list []Platform) string {
	var out []string
	for _, p := range list {
		out = append(out, p.OS+"/"+p.Architecture)
	}
	return strings.Join(out, ", ")
}

// platforms are those of the systems and architectures, by default linux and amd64.
func platforms(systems, archs []string) (list []Platform) {
	for _, os := range orElse(systems, "linux") {
		for _, arch := range orElse(archs, "amd64") {
			list = append(list, Platform{os, arch})
		}
	}
	return list
}

func orElse(list []string, what string) []string {
	if len(list) == 0 {
		return []string{what}
	}
	return list
}

// labelled are the values that labels with the prefix support, sorted.
func (r *run) labelled(prefix string) []string {
	var list []string
	for k, v := range r.bundle.CSV.Labels {
		if rest, ok := strings.CutPrefix(k, prefix); ok && v == "supported" {
			list = append(list, rest)
		}
	}
	slices.Sort(list)
	return list
}

// uses are the images of the Deployments and the related ones.
func (r *run) uses() []use {
	var list []use
	for i, d := range r.bundle.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		pod := d.Spec.Template.Spec
		named := slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == "manager" })
		for j, c := range pod.Containers {
			list = append(list, use{
				image: c.Image, field: fmt.Sprintf("spec.install.spec.deployments[%d].spec.template.spec.containers[%d].image", i, j),
				affinity: affinityOf(pod), manager: c.Name == "manager" || !named && c.Name != "kube-rbac-proxy",
			})
		}
	}
	for i, img := range r.bundle.CSV.Spec.RelatedImages {
		if !slices.ContainsFunc(list, func(u use) bool { return u.image == img.Image }) {
			list = append(list, use{image: img.Image, field: fmt.Sprintf("spec.relatedImages[%d].image", i)})
		}
	}
	return list
}

// affinityOf are the platforms that a pod is bound to by its node affinity.
func affinityOf(pod corev1.PodSpec) []Platform {
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil || pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	var list []Platform
	for _, term := range pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var archs, systems []string
		for _, e := range term.MatchExpressions {
			switch {
			case e.Operator != corev1.NodeSelectorOpIn:
			case e.Key == corev1.LabelArchStable:
				archs = e.Values
			case e.Key == corev1.LabelOSStable:
				systems = e.Values
			}
		}
		if len(archs)+len(systems) == 0 {
			continue
		}
		list = append(list, platforms(systems, archs)...)
	}
	return list
}
