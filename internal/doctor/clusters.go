package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/certmanager"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/localrun"
	"github.com/example/mysdk/internal/olm/run"
)

// answerTimeout is how long a cluster may take to answer, and lookTimeout how long
// to answer all that is asked of the project in it.
const (
	answerTimeout = 3 * time.Second
	lookTimeout   = 20 * time.Second
)

// embedded looks at the embedded clusters of this machine.
func (e *exam) embedded() {
	const name = "embedded cluster"
	if _, err := e.Host.StateDir(); err != nil {
		return // directories has told
	}
	ctx, cancel := context.WithTimeout(e.ctx, answerTimeout)
	defer cancel()
	all, err := cluster.List(ctx, e.Host)
	switch {
	case err != nil:
		e.failed(Problem, name, err, "check that the state directory is readable")
	case len(all) == 0:
		e.ok(name, "none; start one with 'mysdk cluster start'")
	}
	for _, c := range all {
		e.oneCluster(name+" "+c.Name, c)
		if c.State == cluster.Running && c.Ready {
			own := kube.Options{Kubeconfig: c.Kubeconfig, Embedded: c.Name}
			e.operator("operator in cluster "+c.Name, own)
			e.stored("stored versions in cluster "+c.Name, own)
		}
	}
}

func (e *exam) oneCluster(name string, c cluster.Info) {
	switch {
	case c.State == cluster.Stale:
		e.warning(name, state.Command("start", c.Name), "its server was killed; the next start brings it back with what is in it")
	case c.State == cluster.Stopped:
		e.stopped(name, c)
	case !c.Ready:
		e.warning(name, state.Command("logs", c.Name), "it runs and is not ready: %s", cmp.Or(strings.TrimSpace(c.Problem), "it does not say why"))
	case e.Build != "" && c.Build != e.Build:
		e.warning(name, state.Command("stop", c.Name)+", and the next start renews it", "it runs, started by mysdk %s, and this is %s", c.Build, e.Build)
	default:
		e.ok(name, "runs at %s, Kubernetes %s", c.Server, c.Version)
	}
}

// stopped looks whether a cluster can come back where it was.
func (e *exam) stopped(name string, c cluster.Info) {
	was, err := state.Layout{Dir: c.StateDir}.Read()
	switch {
	case err != nil:
		e.failed(Problem, name, err, "check that the file is readable")
	case was.Port != 0 && e.System.PortInUse(e.ctx, was.Port):
		e.warning(name, "end what listens there, or after the next start renew your kubeconfig: mysdk cluster kubeconfig --merge --cluster "+c.Name,
			"it is stopped, and something else has its port %d: it will come up at another", was.Port)
	default:
		e.ok(name, "stopped")
	}
}

// leftovers looks for webhooks of runs that were killed.
func (e *exam) leftovers() {
	const name = "webhooks of run local"
	if _, err := e.Host.StateDir(); err != nil {
		return // directories has told
	}
	left, err := localrun.Leftovers(e.Host)
	if err != nil {
		e.failed(Problem, name, err, "check that the state directory is readable")
		return
	}
	for _, l := range left {
		e.warning(name, "in "+l.Project+": mysdk run local --restore, with the --context of that run if it had one",
			"a run of %s was killed and left %s pointing at it", l.Project, list(l.Objects))
	}
}

// named asks the cluster that was named, and only that.
func (e *exam) named() {
	const name = "named cluster"
	if e.Kubeconfig == "" && e.Context == "" {
		if files := e.Host.Getenv("KUBECONFIG"); files != "" {
			e.ok(name, "none: KUBECONFIG=%s alone does not select another cluster; --context does", files)
		}
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, answerTimeout)
	defer cancel()
	which := kube.Options{Kubeconfig: e.Kubeconfig, Context: e.Context}
	c, err := e.connect(ctx, which)
	switch {
	case err != nil:
		e.failed(Problem, name, err, "check that the cluster is running")
	case c.Guard(e.Allowed) != nil:
		e.warning(name, "add --context "+c.ContextName()+" where you mean it", "%s, Kubernetes %s: commands refuse to write there without its name", c.Name(), c.Version)
	default:
		e.ok(name, "%s, Kubernetes %s", c.Name(), c.Version)
		e.operator("operator in context "+c.ContextName(), which)
		e.stored("stored versions in context "+c.ContextName(), which)
	}
}

// operator looks at the project's operator in a cluster that it is deployed to.
func (e *exam) operator(name string, which kube.Options) {
	i := slices.IndexFunc(e.applied, func(u *unstructured.Unstructured) bool { return u.GetKind() == "Deployment" })
	if i < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, lookTimeout)
	defer cancel()
	c, err := e.connect(ctx, which)
	var live *unstructured.Unstructured
	if err == nil {
		live, err = c.Read(ctx, e.applied[i])
	}
	if err == nil && live == nil {
		return // not deployed there
	}
	var f *run.Finding
	if err == nil {
		objects := slices.Clone(e.applied)
		if c.EmbeddedName() != "" { // deploy makes its Secrets instead
			objects = slices.DeleteFunc(objects, func(u *unstructured.Unstructured) bool { return u.GroupVersionKind().Group == certmanager.Group })
		}
		f, err = (&run.Deployed{Reader: c, Objects: objects}).Check(ctx)
	}
	switch {
	case err != nil:
		e.failed(Warning, name, err, "check that the cluster is running")
	case f == nil:
		e.ok(name, "%s is ready", kube.RefOf(live))
	case f.Heals():
		e.warning(name, e.aimed(cmp.Or(f.Hint, "run 'mysdk deploy', which waits for it"), c.Target), "%s", f)
	default:
		e.problem(name, e.aimed(f.Hint, c.Target), "%s", f)
	}
}

// aimed has the commands of a hint mean the cluster that was looked at: bare ones
// mean the cluster that was named, if one was.
func (e *exam) aimed(hint string, t kube.Target) string {
	flags := strings.TrimPrefix(t.Kubectl(), "mysdk kubectl")
	if flags == "" && e.Kubeconfig+e.Context != "" {
		flags = " --cluster " + t.Embedded
	}
	return strings.NewReplacer("mysdk kubectl", "mysdk kubectl"+flags, "mysdk deploy", "mysdk deploy"+flags).Replace(hint)
}
