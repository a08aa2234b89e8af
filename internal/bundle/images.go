package bundle

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// relatedPrefix begins the variables that tell an operator its images.
const relatedPrefix = "RELATED_IMAGE_"

// containerImageKey is the annotation of a CSV that names the operator's image to catalogs.
const containerImageKey = "containerImage"

// Images are the references that --use-image-digests pins: the images of all
// containers, those of RELATED_IMAGE_* and those that the base relates,
// without the ones that have a digest already. They are sorted.
func Images(objects []*unstructured.Unstructured) []string {
	var all []string
	add := func(m object, field string) { all = append(all, textAt(m, field)) }
	for _, u := range objects {
		if IsCSV(u) {
			add(mapAt(u.Object, "metadata", "annotations"), containerImageKey)
			for _, e := range objectsAt(u.Object, "spec", "relatedImages") {
				add(e, "image")
			}
		}
	}
	eachImage(allDeployments(objects), add)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" || strings.Contains(s, "@") })
}

// eachImage visits the fields in which Deployments name images: those of containers,
// and the values of RELATED_IMAGE_*.
func eachImage(deployments []*unstructured.Unstructured, visit func(m object, field string)) {
	for _, d := range deployments {
		for _, c := range containers(d) {
			visit(c, "image")
			for _, env := range objectsAt(c, "env") {
				if strings.HasPrefix(textAt(env, "name"), relatedPrefix) {
					visit(env, "value")
				}
			}
		}
	}
}

// allDeployments are those among the objects, and those that a ClusterServiceVersion alone has.
func allDeployments(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	list := slices.DeleteFunc(slices.Clone(objects), func(u *unstructured.Unstructured) bool { return u.GetKind() != "Deployment" })
	for _, u := range objects {
		if !IsCSV(u) {
			continue
		}
		for _, e := range objectsAt(u.Object, "spec", "install", "spec", "deployments") {
			if named(list, textAt(e, "name")) == nil {
				list = append(list, deploymentOf(e))
			}
		}
	}
	return list
}

// deploymentOf is an entry of a CSV's deployments as the object that it stands
// for. Both have one spec: what is done to it is done to the entry.
func deploymentOf(e object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: object{"apiVersion": "apps/v1", "kind": "Deployment", "spec": e["spec"]}}
	u.SetName(textAt(e, "name"))
	return u
}

// pin puts digests in place of tags, wherever Images has found them.
func pin(csv object, deployments []*unstructured.Unstructured, digests map[string]string) {
	replace := func(m object, field string) {
		if digest, ok := digests[textAt(m, field)]; ok {
			m[field] = digest
		}
	}
	if annotations := mapAt(csv, "metadata", "annotations"); annotations != nil {
		replace(annotations, containerImageKey)
	}
	eachImage(deployments, replace)
}

// related is an image that an operator needs.
type related struct {
	name, image string
	where       string // the Deployment, and the container if there are several
}

// relatedImages lists the images that RELATED_IMAGE_* name and, with all, those
// of the containers too: a mirror then has everything that runs. A name that
// stands for two images gets the place before it, and a number where the place
// has two; an image with two names is listed once, by its first.
func relatedImages(deployments []*unstructured.Unstructured, all bool) ([]object, error) {
	found, err := findRelated(deployments, all)
	if err != nil {
		return nil, err
	}
	images, taken := map[string]int{}, map[string]bool{}
	for _, r := range found {
		images[r.name]++
		taken[r.name] = images[r.name] == 1
	}
	var list []object
	for i, r := range found {
		if slices.ContainsFunc(found[:i], func(o related) bool { return o.image == r.image }) {
			continue
		}
		name := r.name
		if images[name] > 1 {
			name = free(r.where+"-"+name, taken)
		}
		list = append(list, object{"name": name, "image": r.image})
	}
	return list, nil
}

// free takes a name, with a number where it is taken.
func free(name string, taken map[string]bool) string {
	one := name
	for n := 2; taken[one]; n++ {
		one = fmt.Sprintf("%s-%d", name, n)
	}
	taken[one] = true
	return one
}

// findRelated lists each pair of name and image once.
func findRelated(deployments []*unstructured.Unstructured, all bool) ([]related, error) {
	var found []related
	add := func(r related) {
		if !slices.ContainsFunc(found, func(o related) bool { return o.name == r.name && o.image == r.image }) {
			found = append(found, r)
		}
	}
	for _, d := range deployments {
		list := containers(d)
		for _, c := range list {
			where := d.GetName()
			if len(list) > 1 {
				where += "-" + textAt(c, "name")
			}
			for _, env := range objectsAt(c, "env") {
				variable := textAt(env, "name")
				name, ok := strings.CutPrefix(variable, relatedPrefix)
				switch {
				case !ok:
				case env["valueFrom"] != nil:
					return nil, clierr.Failedf("give the variable a value", "%s: %s has a valueFrom, and the image must be known now", kube.RefOf(d), variable)
				case textAt(env, "value") != "":
					add(related{strings.ToLower(strings.ReplaceAll(name, "_", "-")), textAt(env, "value"), where})
				}
			}
			if image := textAt(c, "image"); all && image != "" {
				add(related{textAt(c, "name"), image, where})
			}
		}
	}
	return found, nil
}

// LockName is the file, in the kustomization's directory, that keeps the
// digests of images: a bundle that is made again has the same ones, and needs
// no network.
const LockName = "image-digests.yaml"

// lockHead explains the file to who opens it.
const lockHead = "# The digests that 'mysdk bundle generate --use-image-digests' puts in place of tags.\n" +
	"# Take a line out to have its tag resolved again.\n"

// lock is what the file looks like.
type lock struct {
	Images map[string]string `json:"images"` // reference by tag -> digest
}

// ReadLock reads the digests from a lock file's contents.
func ReadLock(data []byte, file string) (map[string]string, error) {
	var l lock
	if err := yaml.UnmarshalStrict(data, &l); err != nil {
		return nil, clierr.Failedf("correct the file, or remove it to have every tag resolved again", "%w", yamlProblem(file, err))
	}
	return l.Images, nil
}

// WriteLock writes a lock file: the images, each with its digest.
func WriteLock(digests map[string]string) ([]byte, error) {
	data, err := marshal(lock{Images: digests})
	return append([]byte(lockHead), data...), err
}
