package hostpods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	conversions "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/utils/ptr"
)

// hosted returns the pod of that name, if programs serve it.
func (m *Pods) hosted(namespace, name string) *hostedPod {
	for _, p := range m.all() {
		if p.namespace == namespace && p.name == name {
			return p
		}
	}
	return nil
}

// past returns the pod of that name, if programs served it before the cluster was
// stopped, and were done.
func (m *Pods) past(ctx context.Context, namespace, name string) *hostedPod {
	pod, err := m.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || pod.Annotations[ProcessAnnotation] != ProcessMarked || !over(pod) {
		return nil
	}
	return m.newHosted(pod)
}

// serveLogs answers what the API server asks of a kubelet for `logs`, and
// reports whether the container is one of ours.
func (m *Pods) serveLogs(w http.ResponseWriter, r *http.Request) bool {
	p := m.hosted(r.PathValue("namespace"), r.PathValue("pod"))
	if p == nil {
		p = m.past(r.Context(), r.PathValue("namespace"), r.PathValue("pod"))
	}
	if p == nil {
		return false
	}
	c, err := p.find(r.PathValue("container"))
	if err != nil {
		// Ignore write errors: the client is gone.
		_, _ = fmt.Fprintf(w, "(%v)\n", err)
		return true
	}
	o, previous, err := logQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return true
	}
	err = c.readLog(r.Context(), previous, o, flushing{w})
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(w, fmt.Sprintf("container %q in pod %q has not run%s", c.spec.Name, p.name, before(previous)), http.StatusBadRequest)
	} else if err != nil && r.Context().Err() == nil {
		p.log.Printf("read the log of pod %s/%s: %v", p.namespace, p.name, err)
	}
	return true
}

func before(previous bool) string {
	if previous {
		return " before"
	}
	return " yet: look at its state with 'describe pod'"
}

// readLog writes the log of the run that is, or was last; with previous of the
// one before it. Between two runs, as in a kubelet, both are the last one.
func (c *container) readLog(ctx context.Context, previous bool, o logOptions, w io.Writer) error {
	c.mu.Lock()
	run, live := c.run, c.log
	between := live != nil && c.process == nil && c.now.State.Terminated == nil
	c.mu.Unlock()
	if live != nil && live.path != logName(c.pod.logs, c.spec.Name, run) {
		// It is about to start again: its last run counts.
		run--
	}
	if previous && !between {
		run, live = run-1, nil
	}
	if run < 0 {
		return fs.ErrNotExist
	}
	err := readLog(ctx, logName(c.pod.logs, c.spec.Name, run), live, o, w)
	if errors.Is(err, fs.ErrNotExist) && !previous && run > 0 {
		// Of the time before the cluster was stopped.
		return readLog(ctx, logName(c.pod.logs, c.spec.Name, run-1), nil, o, w)
	}
	return err
}

// logQuery reads the parameters of a kubelet's containerLogs, and refuses what a kubelet
// does. The API server has checked those of a pod's log, but not what comes by way of a
// node's proxy.
func logQuery(q url.Values) (o logOptions, previous bool, err error) {
	var asked corev1.PodLogOptions
	if err := conversions.Convert_url_Values_To_v1_PodLogOptions(&q, &asked, nil); err != nil {
		return o, false, err
	}
	o.follow, o.timestamps = asked.Follow, asked.Timestamps
	o.tail, o.limit = ptr.Deref(asked.TailLines, -1), ptr.Deref(asked.LimitBytes, 0)
	seconds := ptr.Deref(asked.SinceSeconds, 0)
	switch {
	case asked.TailLines != nil && o.tail < 0:
		err = fmt.Errorf("tailLines %d is negative", o.tail)
	case asked.LimitBytes != nil && o.limit < 1:
		err = fmt.Errorf("limitBytes %d is not positive", o.limit)
	case asked.SinceSeconds != nil && seconds < 1:
		err = fmt.Errorf("sinceSeconds %d is not positive", seconds)
	case seconds > 0 && asked.SinceTime != nil:
		err = errors.New("sinceSeconds and sinceTime exclude each other")
	case seconds > 0:
		o.since = time.Now().Add(-time.Duration(seconds) * time.Second)
	case asked.SinceTime != nil:
		o.since = asked.SinceTime.Time
	}
	return o, asked.Previous, err
}

// flushing sends what is written at once: somebody may be waiting for the line.
type flushing struct{ http.ResponseWriter }

// Write implements io.Writer.
func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	return n, err
}

// says reports what a pod is of which exec, attach or port-forward was asked.
func (m *Pods) says(namespace, pod string) string {
	p := m.hosted(namespace, pod)
	if p == nil {
		return "pods of this cluster are simulated: no container runs in which a command or a port could be reached"
	}
	text := fmt.Sprintf("pod %s/%s is not a container but a process on this machine; reach it from any shell here:", namespace, pod)
	for _, c := range p.containers {
		now := c.describe()
		text += fmt.Sprintf(" container %s is process %d (%s)", now.Container, now.PID, now.State)
		c.mu.Lock()
		if c.ports != nil {
			for _, port := range c.spec.Ports {
				text += fmt.Sprintf(", its port %d is at %s:%d", port.ContainerPort, loopback, c.ports.at(int(port.ContainerPort)))
			}
		}
		c.mu.Unlock()
	}
	return text
}

// Backend is where on this machine a pod behind the Service listens, with the
// port of the Service; "" where no program serves such a pod. Of several pods it
// is the newest one that is ready, and without one the newest.
func (m *Pods) Backend(service *corev1.Service, port int32) string {
	if len(service.Spec.Selector) == 0 {
		return ""
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	var found string
	var ready bool
	var newest metav1.Time
	for _, p := range m.all() {
		pod := p.latest()
		if pod.Namespace != service.Namespace || pod.DeletionTimestamp != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		at, isReady := p.listensAt(service, port)
		if at != "" && (found == "" || isReady && !ready || isReady == ready && newest.Before(&pod.CreationTimestamp)) {
			found, ready, newest = at, isReady, pod.CreationTimestamp
		}
	}
	return found
}

// listensAt is where the target of a Service's port is found in a pod, and whether
// its container is ready.
func (p *hostedPod) listensAt(service *corev1.Service, port int32) (at string, ready bool) {
	for _, sp := range service.Spec.Ports {
		if sp.Port != port {
			continue
		}
		for _, c := range p.containers {
			target := int(sp.Port)
			if sp.TargetPort.String() != "0" {
				var err error
				if target, err = portNumber(&c.spec, sp.TargetPort); err != nil {
					continue
				}
			}
			c.mu.Lock()
			ports, ready := c.ports, c.now.Ready
			c.mu.Unlock()
			if ports != nil && (ports.declared[target] || ports.host[target] != 0) {
				return net.JoinHostPort(loopback, strconv.Itoa(ports.at(target))), ready
			}
		}
	}
	return "", false
}
