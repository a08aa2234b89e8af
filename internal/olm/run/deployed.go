package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

// Deployed is an operator that was applied to a cluster without OLM.
type Deployed struct {
	Reader  Reader
	Objects []*unstructured.Unstructured // everything that was applied
	Timeout time.Duration                // of Wait
	Now     func() time.Time
	Say     func(format string, args ...any) // told of what takes long
	watch
}

// Wait blocks until every object is ready and the operator does its work, a
// finding is final, or the time is up. The error is a *Failure, unless the
// cluster could not be asked.
func (d *Deployed) Wait(ctx context.Context) error {
	d.watch = watch{now: d.Now, say: d.Say}
	silent := &Finding{Object: kube.RefOf(d.Objects[0]), Problem: "the cluster did not answer in time"}
	err := d.until(ctx, d.Timeout, inspect, silent, d.look, func(about kube.Ref) string {
		look := "mysdk kubectl describe " + strings.ToLower(about.Kind) + " " + about.Name
		if about.Namespace != "" {
			look += " -n " + about.Namespace
		}
		return look
	})
	// One that is ready when the time is up, and only has to become the leader, is fine.
	if f, ok := errors.AsType[*Failure](err); ok && f.Finding == silent && !d.goodSince.IsZero() {
		return nil
	}
	return err
}

// look looks once. done is true when all has been well for long enough.
func (d *Deployed) look(ctx context.Context) (done bool, err error) {
	f, c, err := d.find(ctx)
	if err != nil {
		return false, err
	}
	if d.standing.final(f, d.Now(), d.Say) {
		return false, &Failure{Finding: f}
	}
	if f != nil {
		d.goodSince = time.Time{}
		return false, nil
	}
	if d.goodSince.IsZero() {
		d.goodSince = d.Now()
	}
	// Only an operator that works can lack the rights for it.
	good := d.Now().Sub(d.goodSince)
	return good >= settle && !(good < begins && c.beginning(ctx, d.Reader, c.podsOf(c.deployments))), nil
}

// Check looks once and returns what is not as it should be; nil if all is well.
func (d *Deployed) Check(ctx context.Context) (*Finding, error) {
	f, _, err := d.find(ctx)
	return f, err
}

// find looks for what is wrong, and returns the operator's workloads with it.
// Whatever keeps a Deployment from being available tells more than that it is
// not.
func (d *Deployed) find(ctx context.Context) (*Finding, *chain, error) {
	c := &chain{deployed: true}
	var mine, namespaces []string
	var missing *Finding
	for _, u := range d.Objects {
		live, err := d.Reader.Read(ctx, u)
		if err != nil {
			return nil, nil, err
		}
		problem := "does not exist"
		if live != nil {
			u, problem = live, kube.NotReady(live)
		}
		if problem != "" && (missing == nil || u.GetKind() == "Deployment") {
			missing = c.finding(u, waitOnly, problem, "")
		}
		if live != nil && u.GetKind() == "Deployment" {
			mine, namespaces = append(mine, string(u.GetUID())), append(namespaces, u.GetNamespace())
		}
	}
	slices.Sort(namespaces)
	if err := c.read(ctx, d.Reader, c.workloads(slices.Compact(namespaces))); err != nil {
		return nil, nil, err
	}
	c.deployments = c.deployments.where(func(u *unstructured.Unstructured) bool { return slices.Contains(mine, string(u.GetUID())) })
	for _, u := range c.deployments {
		if f := c.checkDeployment(ctx, d.Reader, u); f != nil {
			return f, c, nil
		}
	}
	f, err := c.checkRights(ctx, d.Reader, c.podsOf(c.deployments))
	if f == nil {
		f = missing
	}
	return f, c, err
}
