package hostpods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	"k8s.io/utils/ptr"
)

const (
	// tokenPath is where every client library looks for a pod's credentials.
	tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is how long a token is good for where nothing else is said.
	tokenSeconds = 3600
)

// volumes are the volumes of a pod as directories. Those made of objects are
// replaced at once when the objects change; all others are empty at first, and
// go with the pod.
type volumes struct {
	sources
	dir string // private, of the pod

	mu     sync.Mutex
	tokens map[string]token // by volume and path
}

// token is a service account's token and when to ask for the next one.
type token struct {
	text  []byte
	until time.Time
}

// fill brings all volumes of the pod, as it is now, up to date: what one of them lacks
// keeps no other back.
func (v *volumes) fill(ctx context.Context, now *corev1.Pod) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pod = now
	var errs []error
	for _, volume := range v.pod.Spec.Volumes {
		if err := v.fillOne(ctx, &volume); err != nil {
			errs = append(errs, fmt.Errorf("volume %s: %w", volume.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (v *volumes) fillOne(ctx context.Context, volume *corev1.Volume) error {
	dir := v.path(volume.Name)
	if err := makeDirs(dir); err != nil {
		return err
	}
	files, written, err := v.files(ctx, volume)
	if err != nil || !written {
		return err
	}
	w, err := volumeutil.NewAtomicWriter(dir, filepath.Base(dir))
	if err != nil {
		return err
	}
	return w.Write(files, nil) // all of them from one moment to the next
}

func (v *volumes) path(name string) string { return filepath.Join(v.dir, "v", name) }

// changing reports whether a volume is made of something that may change.
func (v *volumes) changing() bool {
	return slices.ContainsFunc(v.pod.Spec.Volumes, func(one corev1.Volume) bool {
		_, _, made := sourcesOf(one)
		return made
	})
}

// payload is what a volume holds, by path.
type payload map[string]volumeutil.FileProjection

// put adds a file. Its owner can read it whatever the mode says: that is who a
// container's group stands for here.
func (p payload) put(path string, data []byte, mode *int32) {
	const ownerReads = 0o400
	p[path] = volumeutil.FileProjection{Data: data, Mode: ptr.Deref(mode, corev1.SecretVolumeSourceDefaultMode) | ownerReads}
}

// files are what a volume is to hold; written is false for one whose content
// is the program's.
func (v *volumes) files(ctx context.Context, volume *corev1.Volume) (files payload, written bool, err error) {
	sources, mode, made := sourcesOf(*volume)
	files = payload{}
	for _, source := range sources {
		if err := v.projected(ctx, files, volume.Name, source, mode); err != nil {
			return nil, false, err
		}
	}
	return files, made, nil
}

// sourcesOf is a volume made of objects as a projected one, which may be of none; made
// is false for any other.
func sourcesOf(v corev1.Volume) (list []corev1.VolumeProjection, mode *int32, made bool) {
	var one corev1.VolumeProjection
	switch {
	case v.Secret != nil:
		one.Secret = &corev1.SecretProjection{Items: v.Secret.Items, Optional: v.Secret.Optional}
		one.Secret.Name, mode = v.Secret.SecretName, v.Secret.DefaultMode
	case v.ConfigMap != nil:
		one.ConfigMap = &corev1.ConfigMapProjection{Items: v.ConfigMap.Items, Optional: v.ConfigMap.Optional}
		one.ConfigMap.Name, mode = v.ConfigMap.Name, v.ConfigMap.DefaultMode
	case v.DownwardAPI != nil:
		one.DownwardAPI = &corev1.DownwardAPIProjection{Items: v.DownwardAPI.Items}
		mode = v.DownwardAPI.DefaultMode
	case v.Projected != nil:
		return v.Projected.Sources, v.Projected.DefaultMode, true
	default:
		return nil, nil, false
	}
	return []corev1.VolumeProjection{one}, mode, true
}

func (v *volumes) projected(ctx context.Context, files payload, name string, from corev1.VolumeProjection, mode *int32) error {
	switch {
	case from.Secret != nil:
		values, err := v.secret(ctx, from.Secret.Name, from.Secret.Optional)
		if err != nil {
			return err
		}
		return files.pick(values, from.Secret.Items, mode, from.Secret.Optional)
	case from.ConfigMap != nil:
		values, err := v.configMap(ctx, from.ConfigMap.Name, from.ConfigMap.Optional)
		if err != nil {
			return err
		}
		return files.pick(values, from.ConfigMap.Items, mode, from.ConfigMap.Optional)
	case from.DownwardAPI != nil:
		return v.downward(files, from.DownwardAPI.Items, mode)
	case from.ServiceAccountToken != nil:
		text, err := v.token(ctx, name, from.ServiceAccountToken)
		files.put(from.ServiceAccountToken.Path, text, mode)
		return err
	}
	return nil
}

// pick takes the keys that items name, all of them where there are none.
func (p payload) pick(values map[string][]byte, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	if len(items) == 0 {
		for key, value := range values {
			p.put(key, value, mode)
		}
	}
	for _, item := range items {
		value, ok := values[item.Key]
		if !ok && !ptr.Deref(optional, false) {
			return fmt.Errorf("there is no key %s", item.Key)
		}
		if ok {
			p.put(item.Path, value, cmp.Or(item.Mode, mode))
		}
	}
	return nil
}

func (v *volumes) downward(files payload, items []corev1.DownwardAPIVolumeFile, mode *int32) error {
	for _, item := range items {
		var text string
		var err error
		switch {
		case item.FieldRef != nil:
			text, err = fieldOf(v.pod, item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			text, err = resourceOf(v.pod, item.ResourceFieldRef, "")
		}
		if err != nil {
			return err
		}
		files.put(item.Path, []byte(text), cmp.Or(item.Mode, mode))
	}
	return nil
}

// token asks for a token of the pod's service account, bound to the pod. It is
// requested again when four fifths of its time are over.
func (v *volumes) token(ctx context.Context, volume string, from *corev1.ServiceAccountTokenProjection) ([]byte, error) {
	key := volume + "/" + from.Path
	if t, ok := v.tokens[key]; ok && time.Now().Before(t.until) {
		return t.text, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(ptr.Deref(from.ExpirationSeconds, tokenSeconds)),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: v.pod.Name, UID: v.pod.UID},
	}}
	if from.Audience != "" {
		request.Spec.Audiences = []string{from.Audience}
	}
	account := cmp.Or(v.pod.Spec.ServiceAccountName, "default")
	now := time.Now()
	answer, err := v.client.CoreV1().ServiceAccounts(v.pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("get a token of service account %s: %w", account, err)
	}
	life := answer.Status.ExpirationTimestamp.Sub(now)
	if v.tokens == nil {
		v.tokens = map[string]token{}
	}
	v.tokens[key] = token{[]byte(answer.Status.Token), now.Add(life * 4 / 5)}
	return v.tokens[key].text, nil
}

// mount makes the container's root, in which the volumes are found at their
// paths, and returns where those paths are on this machine. vars are those that
// subPathExpr may use.
func (v *volumes) mount(c *corev1.Container, vars map[string]string) (root string, mounts map[string]string, err error) {
	root = filepath.Join(v.dir, "r", c.Name)
	// A container begins with the files of its image. What cannot be removed stays.
	_ = os.RemoveAll(root)
	if err := makeDirs(root); err != nil {
		return "", nil, err
	}
	mounts = map[string]string{}
	// A mount below another one comes after it.
	list := slices.SortedFunc(slices.Values(c.VolumeMounts), func(a, b corev1.VolumeMount) int {
		return len(a.MountPath) - len(b.MountPath)
	})
	for _, m := range list {
		inside := filepath.Clean("/" + m.MountPath)
		if inside == "/" {
			continue // no program can be given a root of its own
		}
		at := filepath.Join(root, inside)
		sub, err := subPath(m, vars)
		if err == nil {
			err = mountAt(at, filepath.Join(v.path(m.Name), filepath.Clean("/"+sub)))
		}
		if err != nil {
			return "", nil, fmt.Errorf("mount volume %s at %s: %w", m.Name, m.MountPath, err)
		}
		mounts[filepath.ToSlash(inside)] = at
	}
	return root, mounts, makeDirs(filepath.Join(root, "tmp"))
}

func subPath(m corev1.VolumeMount, vars map[string]string) (string, error) {
	if m.SubPathExpr == "" {
		return m.SubPath, nil
	}
	var missing []string
	path := expansion.Expand(m.SubPathExpr, func(name string) string {
		value, ok := vars[name]
		if !ok {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("subPathExpr %s: missing environment variables %v", m.SubPathExpr, missing)
	}
	return path, nil
}

func mountAt(path, target string) error {
	if err := makeDirs(filepath.Dir(path)); err != nil {
		return err
	}
	if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
		// A path within a volume that nobody has made yet.
		if err := makeDirs(target); err != nil {
			return err
		}
	}
	err := os.Symlink(target, path)
	if errors.Is(err, fs.ErrExist) {
		return nil // a directory that another mount has made: it is used as it is
	}
	return err
}

// unreal names the volumes that are empty directories here although they are
// something else in a cluster.
func unreal(pod *corev1.Pod) []string {
	var names []string
	for _, v := range pod.Spec.Volumes {
		if _, _, made := sourcesOf(v); v.EmptyDir == nil && !made {
			names = append(names, v.Name)
		}
	}
	return names
}
