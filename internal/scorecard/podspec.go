package scorecard

import (
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func coreKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

// pod is the pod of a test: its image with the bundle below /bundle, and beside
// it a container that keeps the files it stores until they are fetched.
func (p *Pods) pod(s Subject, t v1alpha3.TestConfiguration) *unstructured.Unstructured {
	mounts := bundleMounts(s.Files)
	env := []any{map[string]any{"name": "SCORECARD_NAMESPACE", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.namespace"}}}}
	volumes := []any{map[string]any{"name": "bundle", "projected": map[string]any{"sources": p.sources}}}
	var sidecar []any
	if dir := t.Storage.Spec.MountPath.Path; dir != "" {
		storage := map[string]any{"name": "storage", "mountPath": dir}
		mounts = append(mounts, storage)
		env = append(env, map[string]any{"name": "SCORECARD_STORAGE", "value": dir})
		volumes = append(volumes, map[string]any{"name": "storage", "emptyDir": map[string]any{}})
		sidecar = []any{p.container(gatherContainer, p.StorageImage, []string{"/bin/sh", "-c", fmt.Sprintf("sleep %.0f", (p.Wait + sidecarTime).Seconds())}, []any{storage}, nil)}
	}
	test := p.container(testContainer, t.Image, t.Entrypoint, mounts, env)
	spec := map[string]any{
		"restartPolicy": "Never", "serviceAccountName": p.ServiceAccount,
		"terminationGracePeriodSeconds": int64(1), // a shell as process 1 does not hear SIGTERM
		"containers":                    append([]any{test}, sidecar...), "volumes": volumes,
	}
	if p.Restricted {
		spec["securityContext"] = map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}}
	}
	return p.object("Pod", p.Run+"-"+podName(t), map[string]any{"spec": spec})
}

// bundleMounts mounts what is at the top of the bundle, each by itself: in the
// volume as a whole these are links, and programs that walk a directory follow
// none.
func bundleMounts(files map[string][]byte) []any {
	var tops []string
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		tops = append(tops, top)
	}
	slices.Sort(tops)
	var mounts []any
	for _, top := range slices.Compact(tops) {
		mounts = append(mounts, map[string]any{"name": "bundle", "mountPath": path.Join(bundleRoot, top), "subPath": top, "readOnly": true})
	}
	return mounts
}

func (p *Pods) container(name, image string, command []string, mounts, env []any) map[string]any {
	words := make([]any, len(command))
	for i, w := range command {
		words[i] = w
	}
	c := map[string]any{"name": name, "image": image, "imagePullPolicy": "IfNotPresent", "volumeMounts": mounts}
	if len(words) > 0 {
		c["command"] = words
	}
	if len(env) > 0 {
		c["env"] = env
	}
	if p.Restricted {
		c["securityContext"] = map[string]any{
			"runAsNonRoot": true, "allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}},
		}
	}
	return c
}

// podName is the test's name and the digits that keep two of one name apart.
func podName(t v1alpha3.TestConfiguration) string {
	sum := fnv.New32a()
	for _, word := range append([]string{t.Image, t.UniqueID, t.Labels["test"]}, t.Entrypoint...) {
		sum.Write([]byte(word + "\x00")) // a hash's Write never fails
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, Name(t))
	return strings.Trim(clean[:min(len(clean), 30)], "-") + fmt.Sprintf("-%08x", sum.Sum32())
}
