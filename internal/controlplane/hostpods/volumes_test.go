package hostpods

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

func TestVolumesFollowTheirObjects(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: types.UID("u"), Labels: map[string]string{"a": "b"}},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{
			{Name: "all", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: ptr.To(int32(0o440))}}},
			{Name: "some", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Items: []corev1.KeyToPath{{Key: "tls.crt", Path: "certs/cert", Mode: ptr.To(int32(0o640))}}}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: ptr.To(true)}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}},
			}}}},
			{Name: "none", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}},
			{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "disk", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}},
		}},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"tls.crt": []byte("C"), "tls.key": []byte("K")}}
	client := fake.NewClientset(secret)
	v := &volumes{sources: sources{client, pod}, dir: t.TempDir()}
	if err := v.fill(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	c := &corev1.Container{Name: "m", VolumeMounts: []corev1.VolumeMount{
		{Name: "all", MountPath: "/tmp/certs"}, {Name: "some", MountPath: "/etc/x/"}, {Name: "empty", MountPath: "/data", SubPathExpr: "deep/$(NAME)"}, {Name: "disk", MountPath: "/host"},
	}}
	vars := map[string]string{"NAME": "er"}
	root, mounts, err := v.mount(c, vars)
	if err != nil {
		t.Fatal(err)
	}
	if again, _, err := v.mount(c, vars); err != nil || again != root {
		t.Errorf("a second mount: %s, %v", again, err)
	}
	read := func(inside string) string {
		data, err := os.ReadFile(relocate(inside, mounts))
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	for path, want := range map[string]string{"/tmp/certs/tls.key": "K", "/etc/x/certs/cert": "C", "/etc/x/labels": `a="b"`} {
		if got := read(path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]fs.FileMode{"/tmp/certs/tls.key": 0o440, "/etc/x/certs/cert": 0o640, "/etc/x/labels": 0o644} {
		if info, err := os.Stat(relocate(path, mounts)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want mode %o", path, info, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(v.path("empty"), "deep", "er")); err != nil {
		t.Errorf("subPathExpr: %v", err)
	}
	if _, _, err := v.mount(&corev1.Container{Name: "n", VolumeMounts: c.VolumeMounts}, nil); err == nil || !strings.Contains(err.Error(), "missing environment variables [NAME]") {
		t.Errorf("subPathExpr of a variable that is not there: %v", err)
	}
	before, err := os.Readlink(filepath.Join(v.path("all"), "..data"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(relocate("/data/own", mounts), []byte("mine"), 0o600); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(relocate("/host", mounts)); err != nil || len(entries) > 0 {
		t.Errorf("a directory of this machine is to be seen: %v, %v", entries, err)
	}
	secret.Data = map[string][]byte{"tls.crt": []byte("C2")}
	if _, err := client.CoreV1().Secrets("ns").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := v.fill(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if read("/tmp/certs/tls.crt") != "C2" || !strings.Contains(read("/tmp/certs/tls.key"), "no such file") || read("/data/own") != "mine" {
		t.Errorf("after the change: %s, %s, %s", read("/tmp/certs/tls.crt"), read("/tmp/certs/tls.key"), read("/data/own"))
	}
	if _, err := os.Readlink(filepath.Join(v.path("none"), "..data")); err != nil {
		t.Errorf("a projected volume of nothing: %v", err)
	}
	if now, err := os.Readlink(filepath.Join(v.path("all"), "..data")); err != nil || now == before {
		t.Errorf("the files of %s were written to one by one: %v", before, err)
	}
	if d := cmp.Diff([]string{"disk"}, unreal(pod)); d != "" || !v.changing() {
		t.Errorf("unreal (-want +got):\n%s", d)
	}
	if err := client.CoreV1().Secrets("ns").Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	v.pod.Spec.Volumes = append(v.pod.Spec.Volumes, corev1.Volume{Name: "late", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	if err := v.fill(t.Context(), pod); err == nil || !strings.Contains(err.Error(), `volume all: secrets "s" not found`) {
		t.Errorf("without its Secret: %v", err)
	}
	if _, err := os.Stat(v.path("late")); err != nil {
		t.Errorf("a volume behind it: %v", err)
	}
}

func TestResourceOf(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "c"},
		{Name: "limited", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: quantity.MustParse("64Mi")}}},
	}}}
	for want, ref := range map[string]corev1.ResourceFieldSelector{
		strconv.Itoa(256 << 30):        {Resource: "limits.memory"},
		strconv.Itoa(64 << 20):         {Resource: "limits.memory", ContainerName: "limited"},
		strconv.Itoa(runtime.NumCPU()): {Resource: "limits.cpu"},
		"0":                            {Resource: "requests.memory"},
	} {
		if got, err := resourceOf(pod, &ref, "c"); err != nil || got != want {
			t.Errorf("%s of %q = %s, %v, want %s", ref.Resource, ref.ContainerName, got, err, want)
		}
	}
}

func TestHostname(t *testing.T) {
	long := strings.Repeat("a", 62) + ".b"
	for want, pod := range map[string]*corev1.Pod{
		"op-1":                  {ObjectMeta: metav1.ObjectMeta{Name: "op-1"}},
		"set":                   {ObjectMeta: metav1.ObjectMeta{Name: "op-1"}, Spec: corev1.PodSpec{Hostname: "set"}},
		strings.Repeat("a", 62): {ObjectMeta: metav1.ObjectMeta{Name: long}},
	} {
		if got := hostname(pod); got != want {
			t.Errorf("hostname of %s = %s, want %s", pod.Name, got, want)
		}
	}
}
