package hostpods

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/example/mysdk/internal/cluster/state"
)

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
