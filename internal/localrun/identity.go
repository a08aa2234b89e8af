package localrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/localrun/trace"
	"github.com/example/mysdk/internal/recording"
)

// What the operator may do on the embedded cluster.
const (
	RightsRole  = "role"  // what its roles grant, as when deployed
	RightsAdmin = "admin" // everything
)

// runAnnotation is on what runs have brought for the operator to a cluster that
// did not have it, with the runID. 'mysdk deploy' takes it off.
const runAnnotation = "mysdk.dev/run-local"

const (
	rightsWait  = 2 * time.Second  // bounds the wait for the API server to see roles
	keepWait    = 10 * time.Second // bounds the wait for the recording, at the end and before it is dropped
	refusedWait = 20 * time.Second // how long one question for refused requests waits
)

// broughtKinds are those of what a Role consists of.
var broughtKinds = []schema.GroupVersionKind{
	rbac("Role"), rbac("RoleBinding"), rbac("ClusterRole"), rbac("ClusterRoleBinding"),
	{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"},
	{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
}

// Role is who the operator is when deployed, and what it may do.
type Role struct {
	Namespace, Account string                       // of its service account
	Objects            []*unstructured.Unstructured // roles and bindings of that account
	// Others are what the operator and its pods use besides: service accounts with
	// their roles and bindings, and configuration.
	Others []*unstructured.Unstructured
}

// ControlPlane is what a run needs of the embedded cluster besides its API.
type ControlPlane interface {
	Kubeconfig(ctx context.Context, u state.User) ([]byte, error)
	Record(ctx context.Context, operator, project string, began func()) error
	Refused(ctx context.Context, project string, known int, wait time.Duration) ([]recording.Use, error)
	Recording(ctx context.Context, at recording.Position, wait time.Duration) (recording.Recording, error)
	Webhook(ctx context.Context, project string, call recording.Webhook) error
	Lines(ctx context.Context, project string, lines <-chan recording.Line, end <-chan struct{}) error
}

// identify gives the operator a user of its own on the embedded cluster, that
// of its service account: its requests can be told from all others, and a right
// that its roles lack is met now, not after deploy.
func (r *run) identify(ctx context.Context) error {
	if r.control == nil || r.user != "" {
		return nil
	}
	role := r.wanted().Role
	u := state.User{Name: "system:serviceaccount:" + cmp.Or(role.Namespace, "default") + ":" + cmp.Or(role.Account, r.Name)}
	r.limited = r.Rights != RightsAdmin && len(role.Objects) > 0
	u.Groups = []string{"system:masters"}
	switch {
	case r.limited:
		u.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + cmp.Or(role.Namespace, "default")}
	case r.Rights == RightsAdmin:
	case r.wanted().RoleErr != nil:
		r.screen.warn("the operator's roles are not known, and it runs with all rights: %v", r.wanted().RoleErr)
	default:
		r.screen.warn("config/default has no role for the operator, or binds one that does not exist; it runs with all rights")
	}
	if err := r.applyRole(ctx); err != nil {
		return err
	}
	if r.Trace {
		u.AuthProvider = trace.Provider
	}
	data, err := r.control.Kubeconfig(ctx, u)
	if err != nil {
		return fmt.Errorf("make the operator's kubeconfig: %w", err)
	}
	if err := r.Host.Files.WriteFile(r.operatorConfig, data, 0o600); err != nil {
		return fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	r.user = u.Name
	return r.record(ctx, u.Name)
}

// applyRole brings the operator's roles and bindings to the cluster, and what is
// used besides, where they have changed. Those of the namespace that it is
// deployed to hold where it runs and in the namespaces that it watches.
func (r *run) applyRole(ctx context.Context) error {
	if r.control == nil {
		return nil
	}
	// First: a run that ends would take the roles away.
	if err := r.claimRoles(ctx); err != nil {
		return err
	}
	if err := r.wanted().RoleErr; err != nil && len(r.roles) > 0 {
		return fmt.Errorf("the operator keeps its rights as they were: %w", err)
	}
	role := r.wanted().Role
	objs := role.Others
	if r.limited {
		objs = slices.Concat(role.Objects, objs)
	}
	byName := func(u *unstructured.Unstructured) string { return kube.RefOf(u).String() }
	changed, sums := changedSince(r.roles, r.placed(objs), byName)
	// What is not there any more would go on granting rights; at first that may be
	// what a run has left that was killed.
	isGone := func(key string) bool { return sums[key] == "" }
	if r.roles == nil || slices.ContainsFunc(slices.Collect(maps.Keys(r.roles)), isGone) {
		if _, err := r.removeRoles(ctx, sums); err != nil {
			return err
		}
	}
	if err := r.putRoles(ctx, changed); err != nil {
		return fmt.Errorf("apply the operator's roles: %w", err)
	}
	r.roles = sums
	if len(changed) > 0 && r.limited {
		r.screen.say("the operator runs as %s, with the rights of its roles (--rights admin for all)", role.Account)
	}
	return nil
}

// putRoles applies objects of the operator's, and the namespaces that they are in.
func (r *run) putRoles(ctx context.Context, changed []*unstructured.Unstructured) error {
	if len(changed) == 0 {
		return nil
	}
	for _, u := range changed {
		if u.GetNamespace() != "" {
			if _, err := r.client.EnsureNamespace(ctx, u.GetNamespace()); err != nil {
				return err
			}
		}
	}
	_, err := r.client.Apply(ctx, changed, kube.ApplyOptions{Force: true, OnCreate: map[string]string{runAnnotation: r.runID()}})
	if err == nil && r.limited {
		err = r.awaitRights(ctx)
	}
	return err
}

// awaitRights waits until the API server has seen the roles: an operator that is
// refused at first tries again only after a second.
func (r *run) awaitRights(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rightsWait)
	defer cancel()
	role := r.wanted().Role
	for _, a := range samplesOf(r.placed(role.Objects)) {
		a.AccountNamespace, a.Account = role.Namespace, role.Account
		for {
			allowed, err := r.client.Allowed(ctx, a)
			if err != nil && ctx.Err() == nil {
				return err
			}
			if allowed || ctx.Err() != nil {
				break // an operator that is refused says so
			}
			time.Sleep(answerEvery)
		}
	}
	return nil
}

// samplesOf is one right of each role.
func samplesOf(objs []*unstructured.Unstructured) []kube.Access {
	var list []kube.Access
	for _, u := range objs {
		var role rbacv1.ClusterRole
		if k := u.GetKind(); k != "Role" && k != "ClusterRole" || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &role) != nil {
			continue
		}
		for _, rule := range role.Rules {
			if len(rule.Verbs)*len(rule.APIGroups)*len(rule.Resources) > 0 && len(rule.ResourceNames) == 0 {
				resource, sub, _ := strings.Cut(rule.Resources[0], "/")
				list = append(list, kube.Access{Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: sub, Namespace: u.GetNamespace()})
				break
			}
		}
	}
	return list
}

// runID is the same in all runs of a project, and in those of no other.
func (r *run) runID() string { return filepath.Base(r.plan.cache) }

// removeRoles takes away what runs of the project have brought for its operators,
// in whatever namespaces, but for the keys of keep, and returns it. Nothing goes
// while another run goes on in this cluster: its operator needs it.
func (r *run) removeRoles(ctx context.Context, keep map[string]string) (removed []kube.Result, err error) {
	if r.control == nil {
		return nil, nil
	}
	lock, err := r.exclusively(ctx, rolesLock)
	if err != nil {
		return nil, fmt.Errorf("remove the operator's roles: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	others, err := r.othersRun()
	if err != nil || others {
		return nil, err
	}
	var ours []*unstructured.Unstructured
	for _, gvk := range broughtKinds {
		list, err := r.client.List(ctx, gvk, kube.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("remove the operator's roles: %w", err)
		}
		for _, u := range list {
			if _, kept := keep[kube.RefOf(u).String()]; !kept && u.GetAnnotations()[runAnnotation] == r.runID() {
				ours = append(ours, u)
			}
		}
	}
	if len(ours) == 0 {
		return nil, nil
	}
	if removed, err = r.client.Delete(ctx, ours, kube.DeleteOptions{}); err != nil {
		return removed, fmt.Errorf("remove the operator's roles: %w", err)
	}
	return removed, nil
}

// placed are objects of the deployment in the namespaces of this run.
func (r *run) placed(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	role := r.wanted().Role
	var list []*unstructured.Unstructured
	for _, u := range objs {
		if u.GetNamespace() != role.Namespace || u.GetNamespace() == "" {
			list = append(list, u)
			continue
		}
		for _, ns := range slices.Compact(slices.Sorted(slices.Values(append([]string{r.podNamespace()}, r.WatchNamespaces...)))) {
			there := u.DeepCopy()
			there.SetNamespace(ns)
			list = append(list, there)
		}
	}
	return list
}

func rbac(kind string) schema.GroupVersionKind { return rbacv1.SchemeGroupVersion.WithKind(kind) }

// record has the cluster record the operator's requests until the run ends, and
// names the rights that it lacks and the loops that it is in as it meets them, and
// the end of the cluster or of the recording before that.
func (r *run) record(ctx context.Context, user string) error {
	if err := r.keepRecording(ctx, false); err != nil {
		r.screen.warn("%v", err)
	}
	// It outlives ctx: what the operator does while it stops counts too.
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- r.control.Record(alive, user, r.Dir, func() { close(began) })
	}()
	select {
	case <-began:
	case err := <-ended:
		stop()
		return fmt.Errorf("record the operator's requests: %w", err)
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		<-ended //nolint:errcheck // alive has ended, the cluster, or the recording, of which the user is told
		if rec, err := r.control.Recording(alive, recording.End(), 0); err == nil && !rec.Of(r.Dir) {
			r.screen.warn("the cluster now records the operator of %s instead of this one; run 'mysdk run local' again to have it recorded ('mysdk why' shows what was recorded until now)", rec.Project)
		} else if alive.Err() == nil {
			r.screen.warn("the cluster has stopped, and the operator can no longer reach it; press Ctrl-C, and run 'mysdk run local' again")
		}
	})
	if r.limited {
		watching.Go(func() { r.tellRefused(alive) })
	}
	if !r.driven { // what drives it has its own checks
		watching.Go(func() { r.tellLoops(alive) })
	}
	reported := r.report(alive)
	r.cleanup = append(r.cleanup, func(ctx context.Context) (err error) {
		reported(ctx)
		if !r.driven {
			err = r.keepRecording(ctx, true)
		}
		stop()
		watching.Wait()
		return err
	})
	if r.driven {
		return nil
	}
	// A run that is killed leaves none, and that of the run before must not pass for it.
	if err := r.Host.Files.Remove(filepath.Join(r.plan.cache, recordingName)); err != nil && !gone(err) {
		return fmt.Errorf("remove the recording of the run before: %w", err)
	}
	return nil
}

// tellRefused says which marker grants what the operator was refused.
func (r *run) tellRefused(ctx context.Context) {
	for known := 0; ctx.Err() == nil; {
		uses, err := r.control.Refused(ctx, r.Dir, known, refusedWait)
		if err != nil {
			return // record says so
		}
		if len(uses) <= known {
			continue
		}
		for _, u := range uses[known:] {
			where := "the controller"
			if len(u.Frames) > 0 && recording.InProject(u.Frames[0]) {
				file, _, _ := strings.Cut(u.Frames[0], ":")
				where = file
			}
			r.screen.print("the operator may not %s; add to %s:\n  // %s", u.Right, where,
				strings.Join(recording.MarkersOf([]recording.Use{u}, r.RoleNamespace), "\n  // "))
		}
		known = len(uses)
	}
}

// recordingName is the file of the last run's recording.
const recordingName = "recording.json"

// keepRecording leaves what the cluster has recorded of this project's operator for later
// commands; or else that of another project's run, which goes on, for commands of that one.
func (r *run) keepRecording(ctx context.Context, ours bool) error {
	// The second Ctrl-C is for what takes long.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWait)
	defer cancel()
	rec, err := r.control.Recording(ctx, recording.End(), 0)
	if err != nil || rec.Of(r.Dir) != ours || !ours && !rec.Active {
		return nil //nolint:nilerr // without the cluster there is none
	}
	if rec, err = r.control.Recording(ctx, recording.Position{}, 0); err != nil {
		return nil //nolint:nilerr // as above
	}
	data, err := json.Marshal(rec)
	if err == nil {
		var file string
		if file, err = RecordingFile(r.Host, cmp.Or(rec.Project, r.Dir)); err == nil {
			err = r.Host.Files.WriteFile(file, data, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("keep what is recorded of the operator of %s: %w", cmp.Or(rec.Project, r.Dir), err)
	}
	return nil
}

// RecordingFile is where the recording of the last run of the project in dir is.
func RecordingFile(h host.Host, dir string) (string, error) { return CacheFile(h, dir, recordingName) }

// CacheFile is where a file of that name is in the cache of the project in dir.
func CacheFile(h host.Host, dir, name string) (string, error) {
	var p plan
	err := p.place(h, dir)
	return filepath.Join(p.cache, name), err
}
