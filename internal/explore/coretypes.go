package explore

import (
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// coreType is a type of Kubernetes' own that CRDs embed, with a value that the
// API server accepts in any object. Schemas do not say what such a type is, and
// ask for less than the API server does.
type coreType struct {
	fields map[string]bool // as JSON
	value  map[string]any
}

// coreTypes are those that are embedded the most. None of the values refers to
// anything that must be there.
var coreTypes = sync.OnceValue(func() []coreType {
	const name, key = "explored", "example.com/explored"
	one, no, user := int64(1), false, int64(1001)
	labels := &metav1.LabelSelector{MatchLabels: map[string]string{key: name}}
	storage := "2Gi"
	var all []coreType
	for _, v := range []any{
		&corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: labels, TopologyKey: corev1.LabelHostname},
		}}}},
		&corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: name, Optional: new(true)},
		&corev1.Container{Name: name, Image: "registry.example.com/explored:v1"},
		&corev1.ContainerPort{Name: name, ContainerPort: 8888},
		&corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: new(true)}},
		&corev1.EnvVar{Name: "EXPLORED", Value: "yes"},
		&corev1.HostAlias{IP: "192.0.2.1", Hostnames: []string{"explored.example.com"}},
		&corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}},
		&corev1.LocalObjectReference{Name: name},
		labels,
		&corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(storage)}},
		},
		&corev1.PodDNSConfig{Searches: []string{"explored.example.com"}},
		&corev1.PodSecurityContext{RunAsUser: &user, FSGroup: &user},
		&corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8888)}}, PeriodSeconds: 7},
		&corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("400m")}, Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("40m")}},
		&corev1.SecurityContext{RunAsUser: &user, AllowPrivilegeEscalation: &no},
		&corev1.ServicePort{Name: name, Port: 8888},
		&corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, TolerationSeconds: &one, Effect: corev1.TaintEffectNoExecute},
		&corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: labels},
		&corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	} {
		value, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(v) // these have no part that is not JSON
		fields := map[string]bool{}
		jsonFields(reflect.TypeOf(v).Elem(), fields)
		all = append(all, coreType{fields, value})
	}
	return all
})

// jsonFields collects the names of a type's fields in JSON.
func jsonFields(t reflect.Type, to map[string]bool) {
	for i := range t.NumField() { // for the iterator Fields, the linker keeps all methods of all types
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			to[name] = true
		} else if f.Anonymous {
			jsonFields(f.Type, to)
		}
	}
}

// coreValue is a value for a schema that is that of a type of Kubernetes' own, as
// far as its properties tell: most of the type's, and no others. Of several types
// it is the one with the fewest fields.
func coreValue(schema map[string]any) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	var best coreType
	for _, t := range coreTypes() {
		if (best.fields == nil || len(t.fields) < len(best.fields)) && t.is(properties) {
			best = t
		}
	}
	return runtime.DeepCopyJSON(best.value)
}

func (t coreType) is(properties map[string]any) bool {
	for name := range properties {
		if !t.fields[name] {
			return false
		}
	}
	for name := range t.value {
		if properties[name] == nil {
			return false
		}
	}
	return 2*len(properties) > len(t.fields)
}

// coreTexts are values of strings that schemas do not list, by the property's name
// in lower case.
var coreTexts = map[string][]any{
	"imagepullpolicy":       {"Always", "IfNotPresent"},
	"pullpolicy":            {"Always", "IfNotPresent"},
	"servicetype":           {"NodePort", "ClusterIP"},
	"protocol":              {"UDP", "TCP"},
	"externaltrafficpolicy": {"Local", "Cluster"},
	"internaltrafficpolicy": {"Local", "Cluster"},
	"sessionaffinity":       {"ClientIP", "None"},
	"podmanagementpolicy":   {"Parallel", "OrderedReady"},
	"priorityclassname":     {"system-cluster-critical"},
}
