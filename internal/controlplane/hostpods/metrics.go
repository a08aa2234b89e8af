package hostpods

import (
	"context"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/client-go/kubernetes/scheme"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/example/mysdk/internal/cluster/state"
)

// metricsAPI is metrics.k8s.io, by which `kubectl top` and autoscalers learn
// what pods and nodes use. The API server in front of it has checked whether the
// user may ask.
type metricsAPI struct{ *Pods }

func metricsHandler(p *Pods) http.Handler {
	m := metricsAPI{p}
	mux := http.NewServeMux()
	base := "/apis/" + metricsv1beta1.SchemeGroupVersion.String()
	for path, answer := range map[string]func(*http.Request) (any, error){
		"":       func(*http.Request) (any, error) { return metricsKinds(), nil },
		"/nodes": m.nodes, "/nodes/{name}": m.node,
		"/pods": m.podList, "/namespaces/{namespace}/pods": m.podList, "/namespaces/{namespace}/pods/{name}": m.pod,
	} {
		mux.HandleFunc("GET "+base+path, func(w http.ResponseWriter, r *http.Request) {
			found, err := answer(r)
			if err != nil {
				responsewriters.ErrorNegotiated(err, scheme.Codecs, metricsv1beta1.SchemeGroupVersion, w, r)
				return
			}
			responsewriters.WriteRawJSON(http.StatusOK, found, w)
		})
	}
	return mux
}

func metricsKinds() *metav1.APIResourceList {
	verbs := metav1.Verbs{"get", "list"}
	return &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: metricsv1beta1.SchemeGroupVersion.String(),
		APIResources: []metav1.APIResource{
			{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs}, {Name: "pods", Namespaced: true, Kind: "PodMetrics", Verbs: verbs},
		},
	}
}

func metricsType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: metricsv1beta1.SchemeGroupVersion.String()}
}

func selected(r *http.Request) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: r.FormValue("labelSelector"), FieldSelector: r.FormValue("fieldSelector")}
}

func (m metricsAPI) podList(r *http.Request) (any, error) {
	if r.FormValue("watch") != "" {
		return nil, apierrors.NewMethodNotSupported(metricsv1beta1.Resource("pods"), "watch")
	}
	pods, err := m.client.CoreV1().Pods(r.PathValue("namespace")).List(r.Context(), selected(r))
	if err != nil {
		return nil, err
	}
	list := &metricsv1beta1.PodMetricsList{TypeMeta: metricsType("PodMetricsList"), Items: []metricsv1beta1.PodMetrics{}}
	for i := range pods.Items {
		if one, ok := m.metricsOf(&pods.Items[i]); ok {
			list.Items = append(list.Items, one)
		}
	}
	return list, nil
}

func (m metricsAPI) pod(r *http.Request) (any, error) {
	pod, err := m.client.CoreV1().Pods(r.PathValue("namespace")).Get(r.Context(), r.PathValue("name"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	one, ok := m.metricsOf(pod)
	if !ok {
		return nil, apierrors.NewNotFound(metricsv1beta1.Resource("pods"), pod.Namespace+"/"+pod.Name)
	}
	return &one, nil
}

func (m metricsAPI) nodes(r *http.Request) (any, error) {
	if r.FormValue("watch") != "" {
		return nil, apierrors.NewMethodNotSupported(metricsv1beta1.Resource("nodes"), "watch")
	}
	nodes, err := m.client.CoreV1().Nodes().List(r.Context(), selected(r))
	if err != nil {
		return nil, err
	}
	list := &metricsv1beta1.NodeMetricsList{TypeMeta: metricsType("NodeMetricsList"), Items: []metricsv1beta1.NodeMetrics{}}
	for i := range nodes.Items {
		one, err := m.metricsOfNode(r.Context(), &nodes.Items[i])
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *one)
	}
	return list, nil
}

func (m metricsAPI) node(r *http.Request) (any, error) {
	node, err := m.client.CoreV1().Nodes().Get(r.Context(), r.PathValue("name"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return m.metricsOfNode(r.Context(), node)
}

// metricsOfNode adds up what the pods of a node use.
func (m metricsAPI) metricsOfNode(ctx context.Context, node *corev1.Node) (*metricsv1beta1.NodeMetrics, error) {
	pods, err := m.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.Name})
	if err != nil {
		return nil, err
	}
	sum := usage{}
	for i := range pods.Items {
		one, _ := m.metricsOf(&pods.Items[i])
		for _, c := range one.Containers {
			sum.cpu += c.Usage.Cpu().MilliValue()
			sum.memory += c.Usage.Memory().Value()
		}
	}
	return &metricsv1beta1.NodeMetrics{
		TypeMeta: metricsType("NodeMetrics"), ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: metav1.Now()},
		Timestamp: metav1.Now(), Window: metav1.Duration{Duration: MeterWindow}, Usage: sum.list(),
	}, nil
}

// metricsOf is what the containers of a pod use; ok is false for one that does
// not run.
func (m metricsAPI) metricsOf(pod *corev1.Pod) (one metricsv1beta1.PodMetrics, ok bool) {
	if pod.Status.Phase != corev1.PodRunning {
		return one, false
	}
	one = metricsv1beta1.PodMetrics{
		TypeMeta:   metricsType("PodMetrics"),
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, CreationTimestamp: metav1.Now()},
		Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: MeterWindow}, Containers: []metricsv1beta1.ContainerMetrics{},
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			one.Containers = append(one.Containers, metricsv1beta1.ContainerMetrics{Name: c.Name, Usage: m.usageOf(pod, c.Name).list()})
		}
	}
	return one, true
}

const (
	// MeterWindow is the time over which the use of a processor is measured.
	MeterWindow = 5 * time.Second
	// What a simulated container uses where its pod says nothing: as good as
	// idle, so that autoscalers have nothing to do.
	idleCPU    = 1        // thousandths of a processor
	idleMemory = 16 << 20 // bytes
)

// usage is what a container uses.
type usage struct {
	cpu    int64 // thousandths of a processor
	memory int64 // bytes
}

func (u usage) list() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewMilliQuantity(u.cpu, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(u.memory, resource.BinarySI),
	}
}

// usageOf is what a container of a pod uses: its process, or what the pod's
// annotations say of one that is simulated.
func (m *Pods) usageOf(pod *corev1.Pod, name string) usage {
	if hosted := m.byUID(pod.UID); hosted != nil {
		if c, err := hosted.find(name); err == nil {
			return c.usage(time.Now())
		}
	}
	u := usage{idleCPU, idleMemory}
	if q, err := resource.ParseQuantity(pod.Annotations[state.CPUAnnotation]); err == nil {
		u.cpu = q.MilliValue()
	}
	if q, err := resource.ParseQuantity(pod.Annotations[state.MemoryAnnotation]); err == nil {
		u.memory = q.Value()
	}
	return u
}

// reading is how long a process had used a processor at a time.
type reading struct {
	used time.Duration
	at   time.Time
}

// usage is what the container's process uses, on the average since the reading
// before; nothing where none runs, or where this machine does not tell.
func (c *container) usage(now time.Time) usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid == 0 {
		return usage{}
	}
	used, memory := ProcessUsage(c.pid)
	since := now.Sub(c.meter.at)
	u := usage{memory: memory}
	if since > 0 && used > c.meter.used {
		u.cpu = int64(1000 * (used - c.meter.used) / since)
	}
	if since >= MeterWindow {
		c.meter = reading{used, now}
	}
	return u
}
