package run

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	available, _ := conditionOf(d, "Available")
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
		if f := c.checkReplicaSet(ctx, r, rs); f != nil {
			return f
		}
	}
	if failed, ok := conditionOf(d, "ReplicaFailure"); ok && failed.status == "True" {
		return c.refused(d, failed)
	}
	f := c.finding(d, waitOnly, fmt.Sprintf("%d of %d replicas are available", number(d, "status", "availableReplicas"), max(number(d, "spec", "replicas"), 1)), "")
	f.Condition = available.text()
	return f
}

// checkReplicaSet walks from a ReplicaSet to its pods.
func (c *chain) checkReplicaSet(ctx context.Context, r Reader, rs *unstructured.Unstructured) *Finding {
	if failed, ok := conditionOf(rs, "ReplicaFailure"); ok && failed.status == "True" {
		return c.refused(rs, failed)
	}
	for _, pod := range c.pods.ownedBy(rs) {
		if f := c.checkPod(ctx, r, pod); f != nil {
			return f
		}
	}
	return nil
}

// refused explains that the API server does not take the pods.
func (c *chain) refused(u *unstructured.Unstructured, failed condition) *Finding {
	hint := "correct the Deployment in the CSV, or what the namespace allows"
	switch {
	case strings.Contains(failed.message, "violates PodSecurity"):
		hint = "give the pod the securityContext that the namespace's Pod Security Standard demands: config/manager/manager.yaml, then bundle again"
	case strings.Contains(failed.message, "exceeded quota"):
		hint = "lower the requests, or raise the ResourceQuota of the namespace"
	case strings.Contains(failed.message, "serviceaccount") && strings.Contains(failed.message, "not found"):
		hint = "add the service account's permissions to the CSV: OLM makes the account from them"
	}
	f := c.finding(u, soon, "no pod can be made: "+oneLine(failed.message), hint)
	f.Condition = failed.text()
	return f
}

// checkPod says what keeps a pod from being ready; nil if nothing does.
func (c *chain) checkPod(ctx context.Context, r Reader, pod *unstructured.Unstructured) *Finding {
	if phase := text(pod, "status", "phase"); phase == "Succeeded" || pod.GetDeletionTimestamp() != nil {
		return nil
	}
	if s, ok := conditionOf(pod, "PodScheduled"); ok && s.status == "False" {
		f := c.finding(pod, patient, "no node takes it: "+oneLine(s.message), "add a node, or lower what the pod asks for")
		f.Condition = s.text()
		return f
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, s := range entries(pod, "status", list) {
			if f := c.checkContainer(ctx, r, pod, &unstructured.Unstructured{Object: s}); f != nil {
				return f
			}
		}
	}
	ready, ok := conditionOf(pod, "Ready")
	if ok && ready.status == "True" {
		return nil
	}
	f := c.finding(pod, waitOnly, "it is not ready", "")
	f.Condition = ready.text()
	if text(pod, "status", "phase") == "Running" {
		f.Log = logTail(ctx, r, pod, "", false)
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
		f = c.finding(pod, soon, fmt.Sprintf("the image %s of container %s cannot be pulled", image, name), imageHint(image, message))
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		f = c.finding(pod, patient, fmt.Sprintf("container %s cannot be started: %s", name, message), "correct the container in the Deployment of the CSV")
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
	f := c.finding(pod, atOnce, fmt.Sprintf("container %s ends with exit code %d again and again", name, code),
		fmt.Sprintf("see all of its log: mysdk kubectl logs -n %s %s -c %s --previous", pod.GetNamespace(), pod.GetName(), name))
	// What the run before wrote last is why it ended; the one that runs now
	// has not got there yet.
	f.Log = logTail(ctx, r, pod, name, true)
	if len(f.Log) == 0 {
		f.Log = logTail(ctx, r, pod, name, false)
	}
	if e := lastError(f.Log); e != "" {
		f.Problem += ": " + e
	}
	return f
}

// lastError is the last line of a log that tells of an error, shortened.
func lastError(log []string) string {
	for _, l := range slices.Backward(log) {
		low := strings.ToLower(l)
		if strings.Contains(low, "error") || strings.Contains(low, "panic") || strings.Contains(low, "fatal") || strings.Contains(low, "forbidden") {
			const most = 200
			if l = oneLine(l); len(l) > most {
				l = l[:most] + "…"
			}
			return l
		}
	}
	return ""
}

// imageHint is what to do about an image that is not to be had.
func imageHint(image, message string) string {
	switch {
	case strings.Contains(message, "mysdk image build"):
		return fmt.Sprintf("build it with 'mysdk image build --image %s'", image)
	case strings.Contains(message, "unauthorized") || strings.Contains(message, "denied") || strings.Contains(message, "authentication"):
		return "name the registry's credentials with --pull-secret-name"
	case strings.Contains(message, "x509: "):
		return "have the container runtime of the nodes trust the registry's CA: --ca-secret-name and --skip-tls-verify are for mysdk's own pulls"
	case strings.Contains(message, "http: server gave HTTP response"):
		return "the nodes speak TLS with this registry: list it as insecure in their container runtime"
	}
	return fmt.Sprintf("check the image's name in the CSV, and push it: mysdk image push %s", image)
}

// forbiddenPattern is how the API server words a missing right of a service
// account (k8s.io/apimachinery, NewForbidden, with the RBAC authorizer's text).
const forbiddenPattern = `User \\?"system:serviceaccount:([^:"\\]+):([^"\\]+)\\?" cannot (\S+) resource \\?"([^"\\]+)\\?" in API group \\?"([^"\\]*)\\?"(?: in the namespace \\?"([^"\\]+)\\?"| at the cluster scope)?`

// checkRights looks into the logs of an operator for requests that were
// refused, and asks the API server whether they still would be: OLM finds an
// operator healthy that may not read what it watches.
func (c *chain) checkRights(ctx context.Context, r Reader, pods objects) (*Finding, error) {
	pattern := regexp.MustCompile(forbiddenPattern)
	for _, pod := range pods {
		if pod.GetDeletionTimestamp() != nil {
			continue
		}
		for _, s := range entries(pod, "spec", "containers") {
			data, err := r.Logs(ctx, pod.GetNamespace(), pod.GetName(), kube.LogOptions{Container: field(s, "name"), Tail: 200})
			if err != nil {
				continue // it may not have started: that is for others to find
			}
			f, err := c.forbidden(ctx, r, pod, data, pattern)
			if f != nil || err != nil {
				return f, err
			}
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
func (c *chain) beginning(ctx context.Context, r Reader) bool {
	csv := c.csv()
	if csv == nil {
		return false
	}
	name := regexp.MustCompile(controllerPattern)
	waits := false
	for _, pod := range c.podsOf(csv) {
		for _, s := range entries(pod, "spec", "containers") {
			log, err := r.Logs(ctx, pod.GetNamespace(), pod.GetName(), kube.LogOptions{Container: field(s, "name"), Tail: 200})
			if err != nil {
				continue // it may not have started: that is for others to find
			}
			idle, works := workOf(strings.ToLower(string(log)), name)
			if works {
				return false // the others wait for it to go
			}
			waits = waits || idle
		}
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

// forbidden turns the first refusal in a log that still holds into a finding.
func (c *chain) forbidden(ctx context.Context, r Reader, pod *unstructured.Unstructured, log []byte, pattern *regexp.Regexp) (*Finding, error) {
	asked := map[kube.Access]bool{}
	for _, m := range pattern.FindAllSubmatch(log, -1) {
		resource, sub, _ := strings.Cut(string(m[4]), "/")
		a := kube.Access{
			AccountNamespace: string(m[1]), Account: string(m[2]), Verb: string(m[3]),
			Resource: resource, Subresource: sub, Group: string(m[5]), Namespace: string(m[6]),
		}
		if asked[a] {
			continue
		}
		asked[a] = true
		// A log tells of the past: rights may have come since, as they do when
		// OLM makes roles while the pod starts.
		allowed, err := r.Allowed(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("check the operator's rights: %w", err)
		}
		if allowed {
			continue
		}
		f := c.finding(pod, soon, fmt.Sprintf("the operator may not %s: its service account %s has no permission for it", a, a.Account),
			fmt.Sprintf("add a marker such as //+kubebuilder:rbac:groups=%s,resources=%s,verbs=%s to the controller, then run 'mysdk bundle generate' again",
				cmp.Or(a.Group, `""`), m[4], a.Verb))
		f.Log = []string{lineWith(string(log), string(m[0]))}
		return f, nil
	}
	return nil, nil
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
