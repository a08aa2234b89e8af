package localrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/recording"
)

// controlFake is an embedded cluster's control socket.
type controlFake struct {
	w       *world
	mu      sync.Mutex
	users   []state.User
	refused []recording.Use
	calls   []recording.Webhook
	lines   []recording.Line // once it is over
	project string           // of what is recorded
	gone    chan struct{}    // closed when the cluster stops; nil: it does not
}

func (c *controlFake) Kubeconfig(_ context.Context, u state.User) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = append(c.users, u)
	return []byte("kubeconfig of " + u.Name), nil
}

func (c *controlFake) Record(ctx context.Context, operator, _ string, began func()) error {
	c.w.event("record %s", operator)
	began()
	select {
	case <-ctx.Done():
	case <-c.gone:
	}
	c.w.event("record ended")
	return ctx.Err()
}

func (c *controlFake) Refused(ctx context.Context, project string, known int, _ time.Duration) ([]recording.Use, error) {
	if c.project != "" && c.project != project {
		return nil, errors.New("another project is recorded")
	}
	if known < len(c.refused) {
		return c.refused, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c *controlFake) Recording(ctx context.Context, _ recording.Position, _ time.Duration) (recording.Recording, error) {
	return recording.Recording{Operator: "op", Project: c.project, Active: true}, ctx.Err()
}

func (c *controlFake) Lines(_ context.Context, _ string, lines <-chan recording.Line, end <-chan struct{}) error {
	<-end
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(lines) > 0 {
		c.lines = append(c.lines, <-lines)
	}
	return nil
}

func (c *controlFake) Webhook(_ context.Context, _ string, call recording.Webhook) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	return nil
}

// shopRole is the role of an operator in shop-system.
func shopRole(t *testing.T) Role {
	t.Helper()
	return Role{Namespace: "shop-system", Account: "shop", Objects: objects(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shop}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: shop-leases, namespace: shop-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: elsewhere, namespace: other}
`), Others: objects(t, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: shop-database, namespace: shop-system}}`)}
}

// TestIdentity: who the operator is, what is brought for it, and what stays.
func TestIdentity(t *testing.T) {
	const user = "system:serviceaccount:shop-system:shop"
	limited := []string{"system:serviceaccounts", "system:serviceaccounts:shop-system"}
	tests := map[string]struct {
		options Options
		role    bool
		broken  error // of the role
		already bool
		beside  string // the cluster of another run of the project
		groups  []string
		applied []string
		stays   bool // what was brought
		says    string
		user    string
		notSaid string
	}{
		"with its role": {
			role: true, groups: limited, user: user,
			applied: []string{"ensure namespace default", "ensure namespace other", "apply ClusterRole", "apply Role in", "apply RoleBinding", "apply ServiceAccount"},
			says:    "the operator runs as shop, with the rights of its roles",
		},
		"in a cluster that stays": {role: true, already: true, groups: limited, user: user},
		"beside another run":      {role: true, already: true, beside: "test", groups: limited, user: user, stays: true, says: "warning: another 'mysdk run local' runs this operator on this cluster"},
		"and in another cluster":  {role: true, already: true, beside: "test-2", groups: limited, user: user, notSaid: "another 'mysdk run local'"},
		"in namespaces":           {options: Options{WatchNamespaces: []string{"a", "b"}}, role: true, groups: limited, user: user, applied: []string{"ensure namespace a", "ensure namespace b"}},
		"with a missing right":    {role: true, groups: limited, user: user, says: "\n  // +kubebuilder:rbac:groups=core,resources=secrets,verbs=list\n"},
		"and within a namespace":  {options: Options{RoleNamespace: "shop-system"}, role: true, groups: limited, user: user, says: "\n  // +kubebuilder:rbac:groups=core,namespace=shop-system,resources=secrets,verbs=list\n"},
		"as administrator":        {options: Options{Rights: RightsAdmin}, role: true, groups: []string{"system:masters"}, user: user, applied: []string{"apply ServiceAccount"}, notSaid: "with the rights of its roles"},
		"with a broken role":      {groups: []string{"system:masters"}, user: "system:serviceaccount:default:shop", broken: errors.New("half-edited"), says: "warning: the operator's roles are not known, and it runs with all rights: half-edited"},
		"without a role":          {groups: []string{"system:masters"}, user: "system:serviceaccount:default:shop", says: "warning: config/default has no role for the operator, or binds one that does not exist; it runs with all rights"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.already, w.roleErr = tc.already, tc.broken
			control := &controlFake{w: w, refused: []recording.Use{{Right: recording.Right{Verb: "list", Resource: "secrets"}, Denied: 1, Frames: []string{"internal/controller/shop.go:7"}}}}
			deps := w.deps()
			start, render := deps.StartCluster, deps.Render
			deps.StartCluster = func(ctx context.Context, fresh bool) (*Cluster, error) {
				c, err := start(ctx, fresh)
				c.Control = control
				return c, err
			}
			deps.Render = func(ctx context.Context) (Manifests, error) {
				m, err := render(ctx)
				if tc.role {
					m.Role = shopRole(t)
				}
				return m, err
			}
			file, err := RecordingFile(w.Host, w.Dir)
			if err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("{}"), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			config := ""
			w.operator = func(ctx context.Context, p *process) {
				for _, e := range p.cmd.Env {
					if file, ok := strings.CutPrefix(e, "KUBECONFIG="); ok {
						data, err := os.ReadFile(file)
						if err != nil {
							t.Error(err)
						}
						config = string(data)
					}
				}
				if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the recording of the run before: %v", err)
				}
				fmt.Fprintln(p.cmd.Stderr, "now\tERROR\tno shops")
				if !slices.Contains(tc.groups, "system:masters") {
					w.shows(ctx, "the operator may not list secrets")
				}
				cancel()
				p.obey(ctx)
			}
			other, err := CacheFile(w.Host, w.Dir, kubeconfigPrefix+"operator-"+tc.beside+"-abcdefgh"+lockEnd)
			if err != nil {
				t.Fatal(err)
			}
			// Of a run that was killed, and what was there before.
			for _, u := range objects(t, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: left, namespace: far, annotations: {%s: %q}}}\n---\n"+
				"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: deployed, namespace: far}}", runAnnotation, filepath.Base(filepath.Dir(other)))) {
				w.put(u)
			}
			if tc.beside != "" {
				lock, err := filelock.Try(other)
				if err != nil {
					t.Fatal(err)
				}
				defer lock.Release()
			}
			tc.options.Dir, tc.options.Name = w.Dir, "shop"
			if err := Run(ctx, tc.options, deps); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]state.User{{Name: tc.user, Groups: tc.groups}}, control.users); diff != "" || config != "kubeconfig of "+tc.user {
				t.Errorf("user of %q (-want +got):\n%s", config, diff)
			}
			if l := control.lines; len(l) != 1 || l[0].Number != 1 || l[0].Level != recording.LevelError || l[0].Text != "now\tERROR\tno shops" || l[0].Time.IsZero() {
				t.Errorf("recorded of the log: %+v", l)
			}
			for _, e := range append(tc.applied, "record "+tc.user, "record ended") {
				if !w.happened(e) {
					t.Errorf("%q did not happen: %q", e, w.events)
				}
			}
			applied := tc.role && tc.options.Rights != RightsAdmin
			if w.happened("delete ClusterRole") != (applied && !tc.stays) || w.happened("delete Role left") == tc.stays || w.happened("delete Role deployed") {
				t.Errorf("roles stay: want %v; %q", tc.stays, w.events)
			}
			if text := w.err.String(); !strings.Contains(text, tc.says) || tc.notSaid != "" && strings.Contains(text, tc.notSaid) {
				t.Errorf("printed:\n%s", text)
			}
			if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), `"operator":"op"`) {
				t.Errorf("recording: %s %v", data, err)
			}
		})
	}
}

// TestEndBesideStart: a run that ends leaves the roles of one that is starting.
func TestEndBesideStart(t *testing.T) {
	w := newWorld(t)
	w.embedded = "test"
	placed := func() *run {
		r := newRun(Options{Dir: w.Dir}, w.deps())
		r.client, r.control = clientFake{w}, &controlFake{w: w}
		if err := r.plan.place(w.Host, w.Dir); err != nil {
			t.Fatal(err)
		}
		return r
	}
	ending, starting := placed(), placed()
	starting.manifest = Manifests{Role: shopRole(t)}
	w.onEvent = func(e string) {
		if !strings.HasPrefix(e, "apply RoleBinding") {
			return
		}
		if _, err := ending.removeRoles(t.Context(), nil); err != nil || w.happened("delete") {
			t.Errorf("%v; %q", err, w.events)
		}
	}
	if err := starting.identify(t.Context()); err != nil || !w.happened("apply RoleBinding") {
		t.Errorf("%v; %q", err, w.events)
	}
	if err := starting.stopAll(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := ending.removeRoles(t.Context(), nil); err != nil || !w.happened("delete") {
		t.Errorf("after its end: %v; %q", err, w.events)
	}
}

// TestRolesStay: the end of a run says what it leaves behind, and nothing of a cluster that
// was stopped meanwhile.
func TestRolesStay(t *testing.T) {
	for name, tc := range map[string]struct{ stay, runs bool }{"removed": {false, true}, "broken off": {true, true}, "stopped": {false, false}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := newRun(Options{Dir: w.Dir}, w.deps())
			r.client, r.control, r.roles = clientFake{w}, &controlFake{w: w}, map[string]string{"Role ours": ""}
			if err := r.plan.place(w.Host, w.Dir); err != nil {
				t.Fatal(err)
			}
			w.put(objects(t, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: ours, namespace: far, annotations: {%s: %q}}}", runAnnotation, r.runID()))[0])
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch name {
			case "broken off":
				w.deleteHang, w.onEvent = true, func(string) { cancel() }
			case "stopped":
				w.dieAt = 1
			}
			if err := r.stopCluster(ctx, &Cluster{AlreadyRunning: true}); (err == nil) != (name == "removed") {
				t.Errorf("error: %v", err)
			}
			text := w.err.String()
			if strings.Contains(text, "roles that were applied for the operator stay") != tc.stay || strings.Contains(text, "the cluster keeps running") != tc.runs {
				t.Errorf("printed:\n%s", text)
			}
		})
	}
}

// TestRestoreRoles: what a killed run brought for its operator goes, as do its
// credentials, unless another run needs it.
func TestRestoreRoles(t *testing.T) {
	for name, beside := range map[string]bool{"killed": false, "beside another run": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			deps := w.deps()
			start := deps.StartCluster
			deps.StartCluster = func(ctx context.Context, fresh bool) (*Cluster, error) {
				c, err := start(ctx, fresh)
				c.Control = &controlFake{w: w}
				return c, err
			}
			file, err := CacheFile(w.Host, w.Dir, kubeconfigPrefix+"operator-test-abcdefgh")
			if err == nil {
				err = os.MkdirAll(filepath.Dir(file), 0o700)
			}
			if err == nil {
				err = os.WriteFile(file, []byte("token"), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if beside {
				lock, err := filelock.Try(file + lockEnd)
				if err != nil {
					t.Fatal(err)
				}
				defer lock.Release()
			}
			for _, kind := range []string{"v1, kind: Secret", "v1, kind: ConfigMap", "rbac.authorization.k8s.io/v1, kind: Role"} {
				for _, u := range objects(t, fmt.Sprintf("{apiVersion: %s, metadata: {name: left, namespace: far, annotations: {%s: %q}}}", kind, runAnnotation, filepath.Base(filepath.Dir(file)))) {
					w.put(u)
				}
			}
			if err := Restore(t.Context(), Options{Dir: w.Dir}, deps); err != nil {
				t.Fatal(err)
			}
			_, err = os.Stat(file)
			if left := len(w.contents()) == 3; left != beside || (err == nil) != beside {
				t.Errorf("left: %v, %v", w.contents(), err)
			}
			if text := w.err.String(); strings.Contains(text, "nothing to restore") != beside || strings.Contains(text, "removed what an interrupted run brought for the operator: Role far/left deleted") == beside {
				t.Errorf("printed:\n%s", text)
			}
		})
	}
}

// TestKeepRights: a deployment that cannot be built for the moment takes no rights
// away; one that never could be built does not keep the operator from running.
func TestKeepRights(t *testing.T) {
	w := newWorld(t)
	r := newRun(Options{Dir: w.Dir}, w.deps())
	r.client, r.control = clientFake{w}, &controlFake{w: w}
	if err := r.plan.place(w.Host, w.Dir); err != nil {
		t.Fatal(err)
	}
	r.limited = true
	broken := Manifests{RoleErr: errors.New("half-edited")}
	for i, m := range []Manifests{broken, {Role: shopRole(t)}, broken, {Role: shopRole(t)}, {}} {
		r.manifest = m
		if err := r.applyRole(t.Context()); (i == 2) != errors.Is(err, broken.RoleErr) {
			t.Errorf("step %d: %v", i, err)
		}
		if w.happened("apply") != (i == 1) || w.happened("delete") != (i == 4) {
			t.Errorf("step %d: %q", i, w.listed())
		}
		w.fresh()
	}
	// A role that comes later is not that of an operator which has all rights.
	r.user, r.limited, r.manifest = "op", false, Manifests{Role: shopRole(t)}
	if err := r.applyRole(t.Context()); err != nil || w.happened("apply ClusterRole") {
		t.Errorf("%v: %q", err, w.listed())
	}
}

// TestRecordEnds: a run whose cluster is stopped, or records another project, says so,
// once; its own end is no reason to.
func TestRecordEnds(t *testing.T) {
	const stopped, taken = "warning: the cluster has stopped", "warning: the cluster now records the operator of /another instead of this one"
	for name, tc := range map[string]struct{ project, text string }{"stopped": {text: stopped}, "taken over": {"/another", taken}, "goes on": {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			control := &controlFake{w: w, gone: make(chan struct{}), project: tc.project}
			other, err := RecordingFile(w.Host, "/another")
			if err = errors.Join(err, os.MkdirAll(filepath.Dir(other), 0o700)); err != nil {
				t.Fatal(err)
			}
			deps := w.deps()
			start := deps.StartCluster
			deps.StartCluster = func(ctx context.Context, fresh bool) (*Cluster, error) {
				c, err := start(ctx, fresh)
				c.Control = control
				return c, err
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.operator = func(ctx context.Context, p *process) {
				if tc.text != "" {
					close(control.gone)
					w.shows(ctx, tc.text)
				}
				cancel()
				p.obey(ctx)
			}
			if err := Run(ctx, Options{Dir: w.Dir}, deps); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if _, err := os.Stat(other); (err == nil) != (tc.project != "") {
				t.Errorf("that of the run before, which went on: %v", err)
			}
			for _, text := range []string{stopped, taken} {
				if n := strings.Count(w.err.String(), text); n > 1 || (n == 1) != (text == tc.text) {
					t.Errorf("it is said %d times:\n%s", n, w.err)
				}
			}
		})
	}
}

// TestKeepRecording: a recording is kept for its own project: at the end of the run, after
// the second Ctrl-C too, and when another project's run takes the cluster's recording over.
func TestKeepRecording(t *testing.T) {
	killed, kill := context.WithCancel(t.Context())
	kill()
	for name, tc := range map[string]struct {
		project string
		begins  bool // the run, and does not end
		want    string
	}{
		"at the end":                      {project: "/shop", want: "/shop"},
		"of a project that is not known":  {want: "/shop"},
		"of another, at the end":          {project: "/another"},
		"of another, when the run begins": {project: "/another", begins: true, want: "/another"},
		"its own, when the run begins":    {project: "/shop", begins: true},
	} {
		w := newWorld(t)
		r := &run{Options: Options{Dir: "/shop"}, Deps: w.deps(), control: &controlFake{w: w, project: tc.project}}
		files := map[string]string{}
		for _, dir := range []string{"/shop", "/another"} {
			file, err := RecordingFile(w.Host, dir)
			if err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700)); err != nil {
				t.Fatal(err)
			}
			files[dir] = file
		}
		if err := r.keepRecording(killed, !tc.begins); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for dir, file := range files {
			if _, err := os.Stat(file); (err == nil) != (dir == tc.want) {
				t.Errorf("%s: that of %s: %v", name, dir, err)
			}
		}
	}
}
