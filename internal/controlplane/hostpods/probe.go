package hostpods

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/host"
)

// watch looks after the process until alive ends: its probes, and whether its
// image gets another program.
func (c *container) watch(alive context.Context, halt context.CancelCauseFunc, l *launch) *sync.WaitGroup {
	var work sync.WaitGroup
	started := make(chan struct{})
	c.tellSkipped(l)
	work.Go(func() {
		if c.spec.StartupProbe != nil {
			c.probe(alive, "Startup", c.spec.StartupProbe, l, func(ok, failed bool) bool {
				if failed {
					halt(unhealthy{"startup", c.spec.StartupProbe.TerminationGracePeriodSeconds})
				}
				return ok
			})
			if alive.Err() != nil {
				return
			}
			c.change(func() { c.now.Started, c.now.Ready = ptr.To(true), c.spec.ReadinessProbe == nil })
		}
		close(started)
	})
	if hooks := c.spec.Lifecycle; hooks != nil {
		work.Go(func() {
			if err := c.hook(alive, "PostStart", hooks.PostStart, l); err != nil {
				halt(err)
			}
		})
	}
	after := func(kind string, p *corev1.Probe, judge func(ok, failed bool) bool) {
		if p == nil {
			return
		}
		work.Go(func() {
			select {
			case <-started:
				c.probe(alive, kind, p, l, judge)
			case <-alive.Done():
			}
		})
	}
	after("Readiness", c.spec.ReadinessProbe, func(ok, failed bool) bool {
		if ok || failed {
			c.setReady(ok)
		}
		return false
	})
	after("Liveness", c.spec.LivenessProbe, func(_, failed bool) bool {
		if failed {
			halt(unhealthy{"liveness", c.spec.LivenessProbe.TerminationGracePeriodSeconds})
		}
		return failed
	})
	work.Go(func() {
		if c.otherProgram(alive, l) {
			halt(errProgramChanged)
		}
	})
	return &work
}

func (c *container) setReady(ready bool) {
	c.mu.Lock()
	same := c.now.Ready == ready
	c.mu.Unlock()
	if !same {
		c.change(func() { c.now.Ready = ready && c.now.State.Running != nil })
	}
}

// otherProgram waits until another program serves the container's image, or ctx
// ends. One that is not served at all any more lets the old one go on, as the
// removal of an image from a node would.
func (c *container) otherProgram(ctx context.Context, l *launch) bool {
	whose := ownerOf(c.pod.latest()).name
	for {
		changed := c.pod.Programs.watch()
		if now, ok := c.pod.Programs.find(c.spec.Image, whose); ok && (now.Path != l.program.Path || now.ID != l.program.ID || now.Problem != "") {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// probe asks again and again until judge has heard enough. ok is true once the
// probe has succeeded as often as it is to, failed once it has failed so.
//
// A probe that only waits for a success does not wait for its initial delay:
// it asks at once and often, and what fails within the delay, or within the
// first period, does not count.
func (c *container) probe(ctx context.Context, kind string, p *corev1.Probe, l *launch, judge func(ok, failed bool) bool) {
	period := seconds(p.PeriodSeconds, 10)
	good, bad := int32(0), int32(0)
	// A process needs a moment before it listens, delay or not.
	quiet := time.Now().Add(max(seconds(p.InitialDelaySeconds, 0), period))
	if kind == "Liveness" && !host.Pause(ctx, time.Until(quiet)) {
		return
	}
	for {
		err := c.ask(ctx, p, l)
		next := period
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			good, bad, quiet = good+1, 0, time.Time{}
		case time.Now().Before(quiet):
			next = min(period, c.pod.timeouts.eager)
		default:
			good, bad = 0, bad+1
			c.pod.event(corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %v", kind, err)
		}
		if good > 0 && good < p.SuccessThreshold {
			next = min(period, c.pod.timeouts.eager)
		}
		ok, failed := good >= max(1, p.SuccessThreshold), bad > 0 && bad >= max(1, p.FailureThreshold)
		if (ok || failed) && judge(ok, failed) || !host.Pause(ctx, next) {
			return
		}
	}
}

func seconds(n, otherwise int32) time.Duration {
	return time.Duration(cmp.Or(n, otherwise)) * time.Second
}

// ask asks once, by the same code as a kubelet but for a command, which runs as
// a process of this machine.
func (c *container) ask(ctx context.Context, p *corev1.Probe, l *launch) error {
	timeout := seconds(p.TimeoutSeconds, 1)
	switch {
	case p.HTTPGet != nil:
		get := p.HTTPGet.DeepCopy()
		port, err := portNumber(&c.spec, get.Port)
		if err != nil {
			return err
		}
		get.Port, get.Host = intstr.FromInt(l.ports.at(port)), loopback
		request, err := httpprobe.NewRequestForHTTPGetAction(get, &c.spec, loopback, "probe")
		if err != nil {
			return err
		}
		return verdict(httpprobe.New(false).Probe(request.WithContext(ctx), timeout))
	case p.TCPSocket != nil:
		port, err := portNumber(&c.spec, p.TCPSocket.Port)
		if err != nil {
			return err
		}
		return verdict(tcpprobe.New().Probe(loopback, l.ports.at(port), timeout))
	case p.GRPC != nil:
		options := grpcprobe.ProbeOptions{UseTLS: ptr.Deref(p.GRPC.Mode, "") == corev1.GRPCProbeModeTLS}
		service, port := ptr.Deref(p.GRPC.Service, ""), l.ports.at(int(p.GRPC.Port))
		return verdict(grpcprobe.New().Probe(loopback, service, port, timeout, options))
	case p.Exec != nil:
		return c.runProbe(ctx, p.Exec.Command, timeout, l)
	}
	return nil
}

func verdict(result probe.Result, said string, err error) error {
	if err != nil {
		return err
	}
	if result == probe.Success || result == probe.Warning {
		return nil
	}
	return fmt.Errorf("%s", said)
}

// portNumber is the port that a probe or a Service names.
func portNumber(c *corev1.Container, port intstr.IntOrString) (int, error) {
	if port.Type == intstr.Int {
		return port.IntValue(), nil
	}
	for _, p := range c.Ports {
		if p.Name == port.StrVal {
			return int(p.ContainerPort), nil
		}
	}
	return 0, fmt.Errorf("container %s has no port named %s", c.Name, port.StrVal)
}
