package run

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

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
