package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

// revisionOf is which revision of its Deployment a ReplicaSet is; 0 of none.
func revisionOf(rs *unstructured.Unstructured) int64 {
	n, _ := strconv.ParseInt(rs.GetAnnotations()["deployment.kubernetes.io/revision"], 10, 64) // 0 for what is no number
	return n
}

// checkDeployment walks from a Deployment to its pods; nil if it is available.
func (c *chain) checkDeployment(ctx context.Context, r Reader, d *unstructured.Unstructured) *Finding {
	available := conditionOf(d, "Available")
	// Until then the status and the pods are those of an older spec.
	if number(d, "status", "observedGeneration") < d.GetGeneration() {
		return c.finding(d, waitOnly, "its controller has not seen the last change", "")
	}
	if available.status == "True" && number(d, "status", "updatedReplicas") >= 1 && number(d, "status", "unavailableReplicas") == 0 {
		return nil
	}
	// The newest revision first: while one is rolled out, pods of the one
	// before are healthy, and of no interest.
	sets := c.replicaSets.ownedBy(d)
	slices.SortFunc(sets, func(a, b *unstructured.Unstructured) int { return cmp.Compare(revisionOf(b), revisionOf(a)) })
	for _, rs := range sets {
		if number(rs, "spec", "replicas") == 0 {
			continue // of an older revision
		}
		if failed := conditionOf(rs, "ReplicaFailure"); failed.status == "True" {
			return c.refused(rs, failed)
		}
		for _, pod := range c.pods.ownedBy(rs) {
			if f := c.checkPod(ctx, r, pod); f != nil {
				return f
			}
		}
	}
	if failed := conditionOf(d, "ReplicaFailure"); failed.status == "True" {
		return c.refused(d, failed)
	}
	return c.finding(d, waitOnly, fmt.Sprintf("%d of %d replicas are available",
		number(d, "status", "availableReplicas"), max(number(d, "spec", "replicas"), 1)), "").by(available.text())
}

// refused explains that the API server does not take the pods.
func (c *chain) refused(u *unstructured.Unstructured, failed condition) *Finding {
	hint := "correct " + c.deployment() + ", or what the namespace allows"
	switch {
	case strings.Contains(failed.message, "violates PodSecurity"):
		hint = "give the pod the securityContext that the namespace's Pod Security Standard demands: config/manager/manager.yaml, then " + c.again()
	case strings.Contains(failed.message, "exceeded quota"):
		hint = "lower the requests, or raise the ResourceQuota of the namespace"
	case strings.Contains(failed.message, "serviceaccount") && strings.Contains(failed.message, "not found") && c.deployed:
		hint = "add the ServiceAccount to config/rbac, then " + c.again()
	case strings.Contains(failed.message, "serviceaccount") && strings.Contains(failed.message, "not found"):
		hint = "add the service account's permissions to the CSV: OLM makes the account from them"
	}
	return c.finding(u, soon, "no pod can be made: "+oneLine(failed.message), hint).by(failed.text())
}

// checkPod says what keeps a pod from being ready; nil if nothing does.
func (c *chain) checkPod(ctx context.Context, r Reader, pod *unstructured.Unstructured) *Finding {
	if phase := text(pod, "status", "phase"); phase == "Succeeded" || pod.GetDeletionTimestamp() != nil {
		return nil
	}
	if s := conditionOf(pod, "PodScheduled"); s.status == "False" {
		hint := "add a node, or lower what the pod asks for"
		return c.finding(pod, patient, "it cannot be scheduled: "+oneLine(s.message), hint).by(s.text())
	}
	if f := c.checkMounts(pod); f != nil {
		return f
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, s := range entries(pod, "status", list) {
			if f := c.checkContainer(ctx, r, pod, s); f != nil {
				return f
			}
		}
	}
	ready := conditionOf(pod, "Ready")
	if ready.status == "True" {
		return nil
	}
	f := c.finding(pod, waitOnly, "it is not ready", "").by(ready.text())
	if text(pod, "status", "phase") == "Running" {
		f.Log = logTail(ctx, r, pod, "", false, logLines)
	}
	return f
}

// checkContainer judges one container's status.
func (c *chain) checkContainer(ctx context.Context, r Reader, pod, s *unstructured.Unstructured) *Finding {
	name, image := text(s, "name"), text(s, "image")
	waiting, message := text(s, "state", "waiting", "reason"), oneLine(text(s, "state", "waiting", "message"))
	var f *Finding
	switch waiting {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError":
		f = c.finding(pod, soon, fmt.Sprintf("the image %s of container %s cannot be pulled", image, name), c.imageHint(image, message))
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		f = c.finding(pod, patient, fmt.Sprintf("container %s cannot be started: %s", name, message), "correct the container in "+c.deployment())
	case "CrashLoopBackOff":
		// The kubelet has tried at least twice by then.
		f = c.crashed(ctx, r, pod, s)
	case "":
		// One that ended is started again; twice is enough to know.
		if number(s, "restartCount") >= 2 && text(s, "state", "terminated", "reason") != "" && number(s, "state", "terminated", "exitCode") != 0 {
			f = c.crashed(ctx, r, pod, s)
		}
	}
	if f != nil && waiting != "" {
		f.Condition = fmt.Sprintf("container %s waiting (%s): %s", name, waiting, message)
	}
	return f
}

// crashed explains a container that ends again and again.
func (c *chain) crashed(ctx context.Context, r Reader, pod, s *unstructured.Unstructured) *Finding {
	name := text(s, "name")
	code := number(s, "lastState", "terminated", "exitCode")
	if text(s, "state", "terminated", "reason") != "" {
		code = number(s, "state", "terminated", "exitCode")
	}
	after := atOnce
	if c.deployed {
		after = soon // the status may be that of the program before
	}
	f := c.finding(pod, after, fmt.Sprintf("container %s ends with exit code %d again and again", name, code),
		fmt.Sprintf("see all of its log: mysdk kubectl logs -n %s %s -c %s --previous", pod.GetNamespace(), pod.GetName(), name))
	// What the run before wrote last is why it ended; the one that runs now
	// has not got there yet.
	log := logTail(ctx, r, pod, name, true, crashLines)
	if len(log) == 0 {
		log = logTail(ctx, r, pod, name, false, crashLines)
	}
	f.Log = log[max(0, len(log)-logLines):]
	// kills reports whether an event is of a probe that ends the container.
	kills := func(e *unstructured.Unstructured) bool {
		m := text(e, "message")
		return text(e, "reason") == "Unhealthy" && (strings.HasPrefix(m, "Startup probe") || strings.HasPrefix(m, "Liveness probe"))
	}
	if e := c.newest(pod, kills); e != nil && (code == 128+9 || code == 128+15) { // SIGKILL, SIGTERM
		f.Problem = fmt.Sprintf("container %s is killed again and again: %s", name, oneLine(text(e, "message")))
	} else if e := lastError(log); e != "" {
		f.Problem += ": " + e
	}
	return f
}

// lastError is the last line of a log that reports an error, shortened.
// Indented ones belong to a stack trace, or to the usage of flags.
func lastError(log []string) string {
	pattern := regexp.MustCompile(`(?i)error|panic|fatal|forbidden|flag provided but not defined|invalid value`)
	for _, l := range slices.Backward(log) {
		if pattern.MatchString(l) && !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "\t") {
			var entry struct{ Msg, Error string } // of zap, as in production
			if json.Unmarshal([]byte(l), &entry) == nil && entry.Msg != "" {
				l = strings.TrimSuffix(entry.Msg+": "+entry.Error, ": ")
			}
			const most = 200
			if l = oneLine(l); len(l) > most {
				l = strings.ToValidUTF8(l[:most], "") + "…"
			}
			return l
		}
	}
	return ""
}

// deployment says where the operator's Deployment is written down.
func (c *chain) deployment() string {
	if c.deployed {
		return "the Deployment below config/"
	}
	return "the Deployment in the CSV"
}

// again is the command that brings a correction to the cluster.
func (c *chain) again() string {
	if c.deployed {
		return "run 'mysdk deploy' again"
	}
	return "run 'mysdk bundle generate' again"
}

// checkMounts finds an object that a volume of the pod needs and that is not
// there. A Secret may be on its way, from cert-manager or OLM.
func (c *chain) checkMounts(pod *unstructured.Unstructured) *Finding {
	event := c.eventOf(pod)
	m := regexp.MustCompile(mountPattern).FindStringSubmatch(event)
	if m == nil || text(pod, "status", "phase") != "Pending" {
		return nil
	}
	after := patient
	if m[1] == "secret" {
		after = waitOnly
	}
	return c.finding(pod, after, fmt.Sprintf("a volume needs %s %s, which does not exist", m[1], m[2]),
		fmt.Sprintf("add the %s, or correct the volume in %s", m[1], c.deployment()))
}

// imageHint is what to do about an image that is not to be had.
func (c *chain) imageHint(image, message string) string {
	switch {
	case strings.Contains(message, " cannot be used: "):
		return message // it says what to do
	case strings.Contains(message, "mysdk image build"):
		return fmt.Sprintf("build it with 'mysdk image build --image %s'", image)
	case c.deployed && (strings.Contains(message, "unauthorized") || strings.Contains(message, "denied") || strings.Contains(message, "authentication")):
		return "give the service account in config/rbac/service_account.yaml the imagePullSecrets of the registry"
	case c.deployed && strings.Contains(message, "x509: "):
		return "have the container runtime of the nodes trust the registry's CA"
	case strings.Contains(message, "unauthorized") || strings.Contains(message, "denied") || strings.Contains(message, "authentication"):
		return "name the registry's credentials with --pull-secret-name"
	case strings.Contains(message, "x509: "):
		return "have the container runtime of the nodes trust the registry's CA: --ca-secret-name and --skip-tls-verify are for mysdk's own pulls"
	case strings.Contains(message, "http: server gave HTTP response"):
		return "the nodes speak TLS with this registry: list it as insecure in their container runtime"
	}
	return fmt.Sprintf("check the image's name in %s, and push it: mysdk image push %s", c.deployment(), image)
}

// mountPattern is how the kubelet words a volume's object that is not there.
const mountPattern = `^FailedMount: .*\b(configmap|secret)s? "([^"]+)" not found`

// forbiddenPattern is how the API server words a missing right of a service
// account (k8s.io/apimachinery, NewForbidden, with the RBAC authorizer's text).
const forbiddenPattern = `User \\?"system:serviceaccount:([^:"\\]+):([^"\\]+)\\?" cannot (\S+) resource \\?"([^"\\]+)\\?" in API group \\?"([^"\\]*)\\?"(?: in the namespace \\?"([^"\\]+)\\?"| at the cluster scope)?`

// checkRights looks into the logs of an operator for requests that were
// refused, and asks the API server whether they still would be: OLM finds an
// operator healthy that may not read what it watches.
func (c *chain) checkRights(ctx context.Context, r Reader, pods objects) (*Finding, error) {
	pattern := regexp.MustCompile(forbiddenPattern)
	pods = pods.where(func(pod *unstructured.Unstructured) bool { return pod.GetDeletionTimestamp() == nil })
	for pod, log := range logsOf(ctx, r, pods, kube.LogOptions{Tail: workLines}) {
		f, err := c.forbidden(ctx, r, pod, log, pattern)
		if f == nil && err == nil {
			f, err = c.blind(ctx, r, pod, log)
		}
		if f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// controllerPattern finds the name of the controller in a line that
// controller-runtime logs, as JSON or as text.
const controllerPattern = `\bcontroller"?[=:]\s*"([^"]+)"`

// beginning reports whether the operator has yet to begin its work: no pod of it
// does, by its log, and one is waiting to become the leader or for what its
// controllers watch.
func (c *chain) beginning(ctx context.Context, r Reader, pods objects) bool {
	name := regexp.MustCompile(controllerPattern)
	waits := false
	for _, log := range logsOf(ctx, r, pods, kube.LogOptions{Tail: workLines}) {
		idle, works := workOf(strings.ToLower(log), name)
		if works {
			return false // the others wait for it to go
		}
		waits = waits || idle
	}
	return waits
}

// workOf tells by an operator's log, in lower case, whether it says that it
// waits, for its leader's lease (client-go) or for a controller's caches
// (controller-runtime), and whether it says that it works.
func workOf(log string, controller *regexp.Regexp) (waits, works bool) {
	if strings.LastIndex(log, "attempting to acquire leader lease") > strings.LastIndex(log, "successfully acquired lease") {
		return true, false
	}
	pending := map[string]bool{}
	for line := range strings.Lines(log) {
		m := controller.FindStringSubmatch(line)
		switch {
		case m == nil:
		case strings.Contains(line, "starting eventsource"):
			// One that works already may watch more.
			if _, known := pending[m[1]]; !known {
				pending[m[1]] = true
			}
		case strings.Contains(line, "starting workers"):
			pending[m[1]], works = false, true
		}
	}
	for _, waiting := range pending {
		waits = waits || waiting
	}
	return waits, works && !waits
}

// forbidden turns the refusals in a log that still hold into a finding.
func (c *chain) forbidden(ctx context.Context, r Reader, pod *unstructured.Unstructured, log string, pattern *regexp.Regexp) (*Finding, error) {
	asked := map[kube.Access]bool{}
	var missing []kube.Access
	line := ""
	for _, m := range pattern.FindAllStringSubmatch(log, -1) {
		resource, sub, _ := strings.Cut(m[4], "/")
		a := kube.Access{AccountNamespace: m[1], Account: m[2], Verb: m[3], Resource: resource, Subresource: sub, Group: m[5], Namespace: m[6]}
		if asked[a] {
			continue
		}
		asked[a] = true
		// A log reports the past: rights may have come since, as they do when
		// OLM makes roles while the pod starts.
		allowed, err := allowed(ctx, r, a)
		if err != nil {
			return nil, fmt.Errorf("check the operator's rights: %w", err)
		}
		if !allowed {
			missing, line = append(missing, a), cmp.Or(line, lineWith(log, m[0]))
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	return c.mayNot(pod, line, missing...), nil
}

// mayNot is the finding of rights that the operator lacks.
func (c *chain) mayNot(pod *unstructured.Unstructured, line string, missing ...kube.Access) *Finding {
	slices.SortFunc(missing, func(a, b kube.Access) int { return cmp.Compare(a.String(), b.String()) })
	var may, markers []string
	for _, a := range missing {
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		may = append(may, a.String())
		markers = append(markers, fmt.Sprintf("//+kubebuilder:rbac:groups=%s,resources=%s,verbs=%s", cmp.Or(a.Group, `""`), resource, a.Verb))
	}
	such := "a marker such as "
	if len(missing) > 1 {
		such = "markers such as "
	}
	f := c.finding(pod, soon, fmt.Sprintf("the operator may not %s: its service account %s has no permission for it", strings.Join(may, ", "), missing[0].Account),
		fmt.Sprintf("add %s to the controller, then %s", such+strings.Join(slices.Compact(markers), " and "), c.again()))
	f.Log = []string{line}
	return f
}

// kindPattern finds the kind that a controller is for in a line that
// controller-runtime logs, as JSON or as text.
const kindPattern = `controllerGroup"?[=:]\s*"([^"]*)",?\s*"?controllerKind"?[=:]\s*"([^"]+)"`

// blind looks for a kind of the CSV's that has a controller, by the log, and
// that the operator may not list and watch. Nothing says so for minutes after an
// upgrade: a watch that was allowed when it began goes on.
func (c *chain) blind(ctx context.Context, r Reader, pod *unstructured.Unstructured, log string) (*Finding, error) {
	account := text(pod, "spec", "serviceAccountName")
	asked := map[string]bool{}
	for _, m := range regexp.MustCompile(kindPattern).FindAllStringSubmatch(log, -1) {
		resource := c.resourceOf(m[1], m[2])
		if account == "" || resource == "" || asked[resource] {
			continue
		}
		asked[resource] = true
		for _, verb := range []string{"list", "watch"} {
			a := kube.Access{AccountNamespace: pod.GetNamespace(), Account: account, Verb: verb, Group: m[1], Resource: resource}
			allowed, err := c.allowedSomewhere(ctx, r, &a)
			if err != nil {
				return nil, err
			}
			if !allowed {
				return c.mayNot(pod, lineWith(log, m[0]), a), nil
			}
		}
	}
	return nil, nil
}

// resourceOf is the resource of a kind that the CSV owns, "" of any other.
func (c *chain) resourceOf(group, kind string) string {
	for _, m := range entries(c.csv(), "spec", "customresourcedefinitions", "owned") {
		if resource, ok := strings.CutSuffix(text(m, "name"), "."+group); ok && text(m, "kind") == kind {
			return resource
		}
	}
	return ""
}

// allowedSomewhere asks for a right in the namespaces that the operator is to watch and
// in its own: it may watch fewer than it is told to. a gets the first of them.
func (c *chain) allowedSomewhere(ctx context.Context, r Reader, a *kube.Access) (bool, error) {
	own := a.AccountNamespace
	namespaces := []string{own}
	if mode, ok := c.modeIn(c.namespace); ok {
		if targets := mode.namespaces(own); len(targets) > 0 {
			namespaces = append(targets, own)
		} else {
			namespaces = []string{"", own}
		}
	}
	a.Namespace = namespaces[0]
	for _, ns := range namespaces {
		asked := *a
		asked.Namespace = ns
		if allowed, err := allowed(ctx, r, asked); allowed || err != nil {
			return allowed, err
		}
	}
	return false, nil
}

// allowed is Reader.Allowed, and true where the user may not ask: what nobody can
// tell ends no wait.
func allowed(ctx context.Context, r Reader, a kube.Access) (bool, error) {
	ok, err := r.Allowed(ctx, a)
	if apierrors.IsForbidden(err) {
		return true, nil
	}
	return ok, err
}

// lineWith is the first line of log that has s in it.
func lineWith(log, s string) string {
	for line := range strings.SplitSeq(log, "\n") {
		if strings.Contains(line, s) {
			return line
		}
	}
	return s
}
