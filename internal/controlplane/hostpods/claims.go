package hostpods

import (
	"fmt"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/mysdk/internal/cluster/state"
)

// owner is who a pod belongs to.
type owner struct {
	name    string // by state.WorkloadName
	version string // of it: pods of different versions replace each other
}

func ownerOf(pod metav1.Object) owner {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return owner{name: state.WorkloadName(pod.GetNamespace(), "Pod", pod.GetName())}
	}
	kind, name := ref.Kind, ref.Name
	if hash := pod.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" && kind == "ReplicaSet" {
		kind, name = "Deployment", strings.TrimSuffix(name, "-"+hash)
	}
	return owner{name: state.WorkloadName(pod.GetNamespace(), kind, name), version: string(ref.UID)}
}

// standby is the reason for which a container waits whose pod counts as ready: a
// replica of it runs, as a leader does, and it takes over when that ends.
const standby = "Standby"

// claims say who has what only one process can have: a port that could not be
// moved, compiledCerts, or the work of an owner whose pods elect no leader.
type claims struct {
	mu      sync.Mutex
	holders map[string]holder
}

// holder is a container that runs, or is about to, with what it has claimed.
type holder struct {
	container *container
	owner     owner
	created   time.Time
	seen      int     // index of the pod in arrival order, for those of the same second
	failed    bool    // the same program ends by itself again and again: it sends nobody away
	next      *holder // who gets what this one gives back; nil for anybody
}

func (h holder) before(other holder) bool {
	if h.created.Equal(other.created) {
		return h.seen < other.seen
	}
	return h.created.Before(other.created)
}

// olderVersionOf reports whether other is to take over from h.
func (h holder) olderVersionOf(other holder) bool {
	return h.owner.name == other.owner.name && h.owner.version != other.owner.version && h.before(other)
}

// keeps is why another container waits for what h has.
func (h holder) keeps(name, reason string) waiting {
	return waiting{reason, fmt.Sprintf("%s is taken by pod %s/%s: only one process of this machine can have it", name, h.container.pod.namespace, h.container.pod.name)}
}

// take claims all of the names for h, or none. Where an older version of the
// same owner has one of them, it is returned: it is to make room, as a rolling
// update waits for the new pod before it stops the old one. Anybody else's is
// an error, of type waiting: a replica stands by. A version that fails again and
// again waits for the end of the older one, which would be stopped for each crash.
func (c *claims) take(h holder, names []string) (inTheWay *container, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		now, taken := c.holders[name]
		switch {
		case !taken || now.container == h.container:
		case now.owner == h.owner:
			return nil, now.keeps(name, standby)
		case !now.olderVersionOf(h):
			return nil, now.keeps(name, "CreateContainerError")
		case h.failed:
			why := now.keeps(name, crashLoop)
			why.message += ", and this program fails while that of an older version runs; to have it tried again, delete its pod"
			return nil, why
		default:
			inTheWay = now.container
		}
	}
	if c.holders == nil {
		c.holders = map[string]holder{}
	}
	for _, name := range names {
		now, taken := c.holders[name]
		if taken && now.container != h.container {
			now.next = &h // or the older version, which starts again at once, would have it back
			c.holders[name] = now
		} else {
			c.holders[name] = h
		}
	}
	return inTheWay, nil
}

// drop gives back all that a container has claimed, or was to get next.
func (c *claims) drop(who *container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, h := range c.holders {
		if h.next != nil && h.next.container == who {
			h.next = nil
			c.holders[name] = h
		}
		switch {
		case h.container != who:
		case h.next != nil:
			c.holders[name] = *h.next
		default:
			delete(c.holders, name)
		}
	}
}

// claimed are the names that a launch needs for itself.
func (l *launch) claimed(o owner) []string {
	var names []string
	for _, port := range l.ports.fixed() {
		names = append(names, fmt.Sprintf("port %d", port))
	}
	if l.certs != "" {
		names = append(names, compiledCerts)
	}
	if l.leader {
		names = append(names, "the work of "+o.name)
	}
	return names
}
