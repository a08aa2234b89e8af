package run

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm"
)

// checkCSV says what a ClusterServiceVersion lacks by its own account; nil for
// one that has succeeded. What only waits for its Deployments has the time
// waitOnly, and the reason is theirs.
func (c *chain) checkCSV(u *unstructured.Unstructured) *Finding {
	phase, reason, message := text(u, "status", "phase"), text(u, "status", "reason"), oneLine(text(u, "status", "message"))
	if phase == "Succeeded" {
		return nil
	}
	return c.explainCSV(u, reason, message).by(fmt.Sprintf("phase %s (%s): %s", phase, reason, message))
}

// explainCSV words the reasons that OLM gives.
func (c *chain) explainCSV(u *unstructured.Unstructured, reason, message string) *Finding {
	find := func(after time.Duration, hint, format string, args ...any) *Finding {
		return c.finding(u, after, fmt.Sprintf(format, args...), hint)
	}
	// The reasons are the constants CSVReason… of operator-framework/api,
	// pkg/operators/v1alpha1. Those that are not here report progress.
	switch reason {
	case "UnsupportedOperatorGroup":
		return c.unsupportedGroup(u)
	case "InterOperatorGroupOwnerConflict", "OwnerConflict":
		return c.ownerConflict(u)
	case "NoOperatorGroup":
		return find(soon, "apply an OperatorGroup to the namespace, or install with 'mysdk run bundle', which does",
			"namespace %s has no OperatorGroup, which says what its operators watch", u.GetNamespace())
	case "TooManyOperatorGroups":
		return find(soon, "delete all OperatorGroups of the namespace but one",
			"namespace %s has more than one OperatorGroup, and so OLM cannot tell what its operators watch", u.GetNamespace())
	case "NoTargetNamespaces":
		return find(patient, "correct spec.targetNamespaces or spec.selector of the OperatorGroup",
			"the OperatorGroup of namespace %s selects no namespace", u.GetNamespace())
	case "CannotModifyStaticOperatorGroupProvidedAPIs":
		return find(soon, "install into another namespace, or set spec.staticProvidedAPIs of the OperatorGroup to false",
			"the OperatorGroup of namespace %s has a fixed list of APIs, and %s is not among them", u.GetNamespace(), strings.Join(olm.OwnedCRDs(u), ", "))
	case "InvalidInstallModes":
		return find(soon, "correct spec.installModes of the CSV, then run 'mysdk bundle validate'", "its install modes are not valid: %s", message)
	case "RequirementsNotMet", "RequirementsUnknown", "NeedsReinstall":
		return c.requirements(u, message)
	case "OperatorConditionNotUpgradeable":
		return find(patient, fmt.Sprintf("wait for the operator, or override it: mysdk kubectl edit operatorcondition -n %s %s", u.GetNamespace(), text(u, "spec", "replaces")),
			"the installed operator says that it is not to be upgraded now: %s", message)
	case "InvalidInstallStrategy", "InvalidWebhookDescription":
		return find(soon, "correct the CSV, then run 'mysdk bundle validate'", "%s", message)
	case "InstallComponentFailed", "InstallComponentFailedNoRetry", "APIServiceInstallFailed":
		return find(soon, "correct what the message names in the CSV's install strategy, then run the command again", "OLM cannot make the operator's objects: %s", message)
	case "":
		return find(waitOnly, "", "OLM has not processed it yet")
	}
	return find(waitOnly, "", "%s", message)
}

// unsupportedGroup explains that OperatorGroup and install modes do not match.
func (c *chain) unsupportedGroup(u *unstructured.Unstructured) *Finding {
	problem := "the OperatorGroup of its namespace asks for an install mode that it does not support"
	hint := "install it into another namespace"
	if g := c.groupOf(u.GetNamespace()); g != nil {
		mode := modeOf(u.GetNamespace(), targetsOf(g))
		problem = fmt.Sprintf("%s is for %s (install mode %s), and the operator supports only: %s",
			kube.RefOf(g), mode.describe(u.GetNamespace()), mode.Type, supported(modesOf(u)))
		hint = fmt.Sprintf("set spec.installModes of type %s to supported: true and bundle again, or install into another namespace", mode.Type)
	}
	return c.finding(u, soon, problem, hint)
}

// groupOf is the first OperatorGroup of a namespace.
func (c *chain) groupOf(namespace string) *unstructured.Unstructured {
	if here := c.groups.in(namespace); len(here) > 0 {
		return here[0]
	}
	return nil
}

// ownerConflict names the operator that provides the same API.
func (c *chain) ownerConflict(u *unstructured.Unstructured) *Finding {
	mine := olm.OwnedCRDs(u)
	for _, other := range c.csvs {
		if other.GetNamespace() == u.GetNamespace() && other.GetName() == u.GetName() {
			continue
		}
		// The one that it replaces provides the same by design.
		if other.GetNamespace() == u.GetNamespace() && text(u, "spec", "replaces") == other.GetName() {
			continue
		}
		for _, crd := range olm.OwnedCRDs(other) {
			if !slices.Contains(mine, crd) {
				continue
			}
			return c.finding(u, soon, fmt.Sprintf("%s is already provided by %s%s, and in one namespace an API can have only one operator",
				crd, kube.RefOf(other), c.watches(other)),
				fmt.Sprintf("remove the other one, or install with --install-mode SingleNamespace=ns so that they share no namespace; the other's package: %s", c.packageOf(other)))
		}
	}
	return c.finding(u, soon, "another operator that watches some of the same namespaces provides "+strings.Join(mine, ", "),
		"remove the other operator, or choose namespaces that the two do not share with --install-mode")
}

// watches says where an operator works, if that is known.
func (c *chain) watches(u *unstructured.Unstructured) string {
	mode, ok := c.modeIn(u.GetNamespace())
	if !ok {
		return ""
	}
	return ", which watches " + mode.describe(u.GetNamespace())
}

// modeIn is the mode of the operators of a namespace; ok is false without an OperatorGroup.
func (c *chain) modeIn(namespace string) (mode Mode, ok bool) {
	g := c.groupOf(namespace)
	if g == nil {
		return Mode{}, false
	}
	return modeOf(namespace, targetsOf(g)), true
}

// packageOf is the package that OLM has noted. That of a CSV that was applied by
// hand is guessed from its name, which is package.vVersion by convention.
func (c *chain) packageOf(u *unstructured.Unstructured) string {
	name, _, _ := strings.Cut(u.GetName(), ".v")
	return cmp.Or(packageOf(u), name)
}

// requirements lists what the CSV says is missing. OLM keeps the list of the
// last check; what is there has one of the statuses Present, Satisfied.
func (c *chain) requirements(u *unstructured.Unstructured, message string) *Finding {
	var missing []string
	for _, m := range entries(u, "status", "requirementStatus") {
		if s := text(m, "status"); s == "Present" || s == "Satisfied" || s == "DependentPresent" {
			continue
		}
		line := fmt.Sprintf("%s %s: %s", text(m, "kind"), text(m, "name"), oneLine(text(m, "message")))
		var unmet []string // such as the rules of a service account
		for _, d := range entries(m, "dependents") {
			if text(d, "status") == "NotSatisfied" {
				unmet = append(unmet, oneLine(text(d, "message")))
			}
		}
		if len(unmet) > 0 {
			line += " (" + strings.Join(unmet, "; ") + ")"
		}
		missing = append(missing, line)
	}
	// Without a list OLM has not come to checking: it will.
	if len(missing) == 0 {
		return c.finding(u, waitOnly, "requirements are not met: "+message, "")
	}
	return c.finding(u, patient, "requirements are missing: "+strings.Join(missing, "; "),
		"put what is missing into the bundle, or install what provides it")
}

// checkSubscription looks at how OLM resolved the Subscription.
func (c *chain) checkSubscription(ctx context.Context, r Reader) *Finding {
	if c.subscription == nil {
		return nil
	}
	failed := conditionOf(c.subscription, "ResolutionFailed")
	if failed.status != "True" {
		return nil
	}
	// One catalog that does not answer keeps every Subscription of the
	// namespace from being resolved, whichever catalog that one uses.
	if m := regexp.MustCompile(catalogErrorPattern).FindStringSubmatch(oneLine(failed.message)); m != nil {
		return c.catalogFailed(ctx, r, failed, m[1], m[2], m[3])
	}
	// The first attempt often comes before the catalog is connected, which the
	// next one puts right: hence the patience.
	about := c.unresolved(failed.message)
	problem, hint := about.explainResolution(failed.message)
	f := c.finding(about.subscription, patient, "OLM finds no way to install it: "+problem, hint).by(failed.text())
	if about != c {
		f.Problem += "; until that is solved, OLM installs and upgrades nothing in namespace " + c.namespace
		if remove := fmt.Sprintf("mysdk cleanup %s -n %s", about.pkg, c.namespace); !strings.Contains(f.Hint, remove) {
			f.Hint += "\nor remove it: " + remove
		}
	}
	return f
}

// subscriptionPattern is how OLM's resolver names a Subscription.
const subscriptionPattern = `subscription ([\w.-]+)`

// unresolved is the chain of the Subscription that OLM's complaint is about: all
// those of the namespace have it in their status.
func (c *chain) unresolved(message string) *chain {
	other := c
	for _, m := range regexp.MustCompile(subscriptionPattern).FindAllStringSubmatch(message, -1) {
		sub := c.subscribed.find(m[1])
		switch {
		case m[1] == c.subscription.GetName():
			return c
		case sub != nil && other == c:
			one := *c
			one.pkg, one.subscription = text(sub, "spec", "name"), sub
			other = &one
		}
	}
	return other
}

// explainResolution words what OLM's solver says, and what to do about it.
func (c *chain) explainResolution(message string) (problem, hint string) {
	m := oneLine(message)
	channel := text(c.subscription, "spec", "channel")
	hint = fmt.Sprintf("see its conditions: mysdk kubectl describe subscription -n %s %s", c.namespace, c.subscription.GetName())
	if strings.Contains(m, "no operators found") {
		hint = "correct spec.channel, spec.name or spec.startingCSV of the Subscription"
	}
	switch {
	case strings.Contains(m, "not referenced by a subscription"):
		return "a CSV of the package already exists, without a Subscription",
			fmt.Sprintf("remove it with 'mysdk cleanup %s -n %s', then try again", c.pkg, c.namespace)
	case strings.Contains(m, "no operators found from catalog"):
		hint = "correct spec.source or spec.sourceNamespace of the Subscription, or apply the CatalogSource"
		if g := c.groupOf(c.namespace); g != nil && g.GetAnnotations()[isolateAnnotation] == "true" {
			hint = fmt.Sprintf("let the OperatorGroup have the global catalogs: mysdk kubectl annotate operatorgroup -n %s %s %s-",
				c.namespace, g.GetName(), isolateAnnotation)
		}
		return fmt.Sprintf("nothing of CatalogSource %s/%s reaches namespace %s",
			text(c.subscription, "spec", "sourceNamespace"), text(c.subscription, "spec", "source"), c.namespace), hint
	case strings.Contains(m, "no operators found in channel"):
		return fmt.Sprintf("the catalog has no channel %q for package %s", channel, c.pkg), hint
	case strings.Contains(m, "no operators found in package"):
		return fmt.Sprintf("the catalog has no package %s", c.pkg), hint
	case strings.Contains(m, "no operators found with name"):
		return fmt.Sprintf("the catalog has no %s in channel %q", text(c.subscription, "spec", "startingCSV"), channel), hint
	case strings.Contains(m, "requires") || strings.Contains(m, "dependency"):
		return "something that the operator depends on is in no catalog", hint
	}
	return m, hint
}
