package hostpods

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/host"
)

// sources reads what a pod's variables and volumes come from.
type sources struct {
	client kubernetes.Interface
	pod    *corev1.Pod
}

// variables are those of the container's spec, in the way of a kubelet: envFrom
// first, then env in its order, each seeing those before it.
func (s sources) variables(ctx context.Context, c *corev1.Container) (map[string]string, error) {
	vars := map[string]string{}
	for _, from := range c.EnvFrom {
		values, err := s.from(ctx, from)
		if err != nil {
			return nil, err
		}
		for key, value := range values {
			vars[from.Prefix+key] = string(value)
		}
	}
	for _, e := range c.Env {
		value, found, err := s.variable(ctx, c, e, vars)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", e.Name, err)
		}
		if found {
			vars[e.Name] = value
		}
	}
	return vars, nil
}

func (s sources) from(ctx context.Context, from corev1.EnvFromSource) (map[string][]byte, error) {
	switch {
	case from.ConfigMapRef != nil:
		return s.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		return s.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
	}
	return nil, nil
}

// variable is the value of one entry of env; found is false for an optional
// one that is not there.
func (s sources) variable(ctx context.Context, c *corev1.Container, e corev1.EnvVar, before map[string]string) (value string, found bool, err error) {
	from := e.ValueFrom
	switch {
	case from == nil:
		return expansion.Expand(e.Value, expansion.MappingFuncFor(before)), true, nil
	case from.FieldRef != nil:
		value, err = fieldOf(s.pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = resourceOf(s.pod, from.ResourceFieldRef, c.Name)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		values, err := s.configMap(ctx, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional)
		return keyOf(values, err, "ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional)
	case from.SecretKeyRef != nil:
		values, err := s.secret(ctx, from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
		return keyOf(values, err, "Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Optional)
	}
	return "", false, nil
}

func keyOf(values map[string][]byte, err error, kind, name, key string, optional *bool) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	value, ok := values[key]
	if !ok && !ptr.Deref(optional, false) {
		return "", false, fmt.Errorf("%s %s has no key %s", kind, name, key)
	}
	return string(value), ok, nil
}

// fieldOf is a field of a pod as the downward API has it. Its addresses are
// those that work on this machine.
func fieldOf(pod *corev1.Pod, path string) (string, error) {
	switch path {
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs":
		return loopback, nil
	}
	return fieldpath.ExtractFieldPathAsString(pod, path)
}

// resourceOf is a request or limit of a container, by default of own, as the
// downward API has it. A limit that is not set is what there is: the node's room,
// and the processors of this machine, where the node has more.
func resourceOf(pod *corev1.Pod, ref *corev1.ResourceFieldSelector, own string) (string, error) {
	room := NodeRoom()
	room[corev1.ResourceCPU] = *quantity.NewQuantity(int64(runtime.NumCPU()), quantity.DecimalSI)
	return resource.ExtractResourceValueByContainerNameAndNodeAllocatable(ref, pod, cmp.Or(ref.ContainerName, own), room)
}

// NodeRoom is what a simulated node has to give.
func NodeRoom() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: quantity.MustParse("64"), corev1.ResourceMemory: quantity.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: quantity.MustParse("1Ti"), corev1.ResourcePods: quantity.MustParse("1000"),
	}
}

// configMap returns nil for one that is optional and not there.
func (s sources) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	m, err := s.client.CoreV1().ConfigMaps(s.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, absent(err, optional)
	}
	values := map[string][]byte{}
	for key, value := range m.Data {
		values[key] = []byte(value)
	}
	maps.Copy(values, m.BinaryData)
	return values, nil
}

// secret returns nil for one that is optional and not there.
func (s sources) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	secret, err := s.client.CoreV1().Secrets(s.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, absent(err, optional)
	}
	return secret.Data, nil
}

func absent(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && ptr.Deref(optional, false) {
		return nil
	}
	return err
}

// cleanEnvironment is what a program gets of this process's own variables:
// nothing that says who the user is or what they have access to.
func cleanEnvironment(getenv func(string) string, root string) map[string]string {
	vars := map[string]string{"HOME": root, "TMPDIR": filepath.Join(root, "tmp")}
	names := []string{"PATH", "LANG", "TZ", host.TieEnv}
	if runtime.GOOS == "windows" {
		vars["TMP"], vars["TEMP"] = vars["TMPDIR"], vars["TMPDIR"]
		names = append(names, "SYSTEMROOT", "PATHEXT")
	}
	for _, name := range names {
		if value := getenv(name); value != "" {
			vars[name] = value
		}
	}
	return vars
}

// environ is a map as processes get it, sorted.
func environ(vars map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}

// relocate replaces the paths of mounts in a text by where they are on this
// machine. A path counts where it is whole: not as the end of a longer one, nor
// as the beginning of another name.
func relocate(text string, mounts map[string]string) string {
	longest := slices.SortedFunc(maps.Keys(mounts), func(a, b string) int { return len(b) - len(a) })
	var out strings.Builder
next:
	for i := 0; i < len(text); {
		for _, path := range longest {
			if strings.HasPrefix(text[i:], path) && startsPath(text[:i]) && endsPath(text[i+len(path):]) {
				out.WriteString(mounts[path])
				i += len(path)
				continue next
			}
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String()
}

// pathBytes are what names of files may be made of here; others separate.
const pathBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~"

func startsPath(before string) bool {
	if strings.HasSuffix(before, "://") { // file:///path
		return true
	}
	return before == "" || !strings.ContainsRune(pathBytes+"/", rune(before[len(before)-1]))
}

func endsPath(after string) bool {
	return after == "" || !strings.ContainsRune(pathBytes, rune(after[0]))
}

// makeDirs makes a private directory and those above it.
func makeDirs(dir string) error { return os.MkdirAll(dir, 0o700) }
