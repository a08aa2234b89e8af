package controlplane

import (
	"context"
	"errors"
	"log"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane/hostpods"
)

func claim(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "data", UID: "u-1", Annotations: map[string]string{wantsProvisioner: provisioner},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ptr.To("fast"),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	change(c)
	return c
}

func TestWantsVolume(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		want   bool
	}{
		"ours":                  {func(*corev1.PersistentVolumeClaim) {}, true},
		"no provisioner yet":    {func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil }, false},
		"another's":             {func(c *corev1.PersistentVolumeClaim) { c.Annotations[wantsProvisioner] = "ebs" }, false},
		"bound or names one":    {func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" }, false},
		"about to be gone":      {func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }, false},
		"class is not ours yet": {func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := wantsVolume(claim(tc.change)); got != tc.want {
				t.Errorf("wantsVolume() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestVolumeFitsItsClaim(t *testing.T) {
	c := claim(func(*corev1.PersistentVolumeClaim) {})
	v := volumeFor(c)
	if v.Spec.StorageClassName != "fast" || !v.Spec.Capacity.Storage().Equal(resource.MustParse("1Gi")) || v.Spec.ClaimRef.UID != c.UID {
		t.Errorf("volumeFor() = %+v", v.Spec)
	}
	if d := cmp.Diff(c.Spec.AccessModes, v.Spec.AccessModes); d != "" {
		t.Errorf("access modes (-want +got):\n%s", d)
	}
	c.Spec.StorageClassName = nil
	if got := volumeFor(c).Spec.StorageClassName; got != storageClass {
		t.Errorf("class = %q, want the default one", got)
	}
}

func TestIsReleased(t *testing.T) {
	released := volumeFor(claim(func(*corev1.PersistentVolumeClaim) {}))
	released.Status.Phase = corev1.VolumeReleased
	tests := map[string]struct {
		change func(*corev1.PersistentVolume)
		want   bool
	}{
		"released":      {func(*corev1.PersistentVolume) {}, true},
		"bound":         {func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound }, false},
		"the user's":    {func(v *corev1.PersistentVolume) { v.Annotations = nil }, false},
		"to be kept":    {func(v *corev1.PersistentVolume) { v.Spec.PersistentVolumeReclaimPolicy = "Retain" }, false},
		"going already": {func(v *corev1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{} }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v := released.DeepCopy()
			tc.change(v)
			if got := isReleased(v); got != tc.want {
				t.Errorf("isReleased() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestServiceResolver(t *testing.T) {
	service := func(name, address string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		if address != "" {
			s.Annotations = map[string]string{AddressAnnotation: address}
		}
		return s
	}
	idle := service("idle", "")
	idle.Spec.Selector = map[string]string{"app": "op"}
	client := fake.NewClientset(service("good", "127.0.0.1:9443"), service("six", "[::1]:9443"), service("name", "localhost:1"),
		service("bare", ""), service("far", "192.0.2.1:443"), service("host", "example.com:443"), service("portless", "127.0.0.1"), idle)
	tests := map[string]struct{ name, host, want string }{
		"annotated":       {"good", "127.0.0.1:9443", ""},
		"IPv6":            {"six", "[::1]:9443", ""},
		"localhost":       {"name", "localhost:1", ""},
		"not annotated":   {"bare", "", "no annotation mysdk.dev/address"},
		"no pod runs":     {"idle", "", "'mysdk kubectl --cluster dev describe pods -n ns -l app=op'"},
		"another machine": {"far", "", "is not a loopback address"},
		"a name":          {"host", "", "is not a loopback address"},
		"no port":         {"portless", "", "is not an address with a port"},
		"no service":      {"none", "", "not found"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			u, err := serviceResolver{t.Context(), client, &localServices{}, &hostpods.Pods{}, "dev"}.ResolveEndpoint("ns", tc.name, 443)
			if tc.want == "" && (err != nil || u.Host != tc.host || u.Scheme != "https") {
				t.Errorf("ResolveEndpoint() = %v, %v", u, err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("ResolveEndpoint() = %v, %v, want an error with %q", u, err, tc.want)
			}
		})
	}
}

func TestSimulatedNodeIsReady(t *testing.T) {
	n := simulatedNode(2, "v1.2.3")
	if n.Name != "node-2" || n.Annotations[kwokAnnotation] != kwokFake || n.Status.NodeInfo.KubeletVersion != "v1.2.3" {
		t.Errorf("node = %+v", n)
	}
	if len(n.Status.Conditions) != 1 || n.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("conditions = %v", n.Status.Conditions)
	}
	if last := simulatedNode(state.MaxNodes, ""); last.Status.Addresses[0].Address != "240.1.0.250" {
		t.Errorf("address of the last node = %v", last.Status.Addresses)
	}
}

func TestEnsureWaitsForTheServer(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		answers []error
		want    error
	}{
		"at once":           {[]error{nil}, nil},
		"is there":          {[]error{apierrors.NewAlreadyExists(pods, "a")}, nil},
		"namespace is late": {[]error{apierrors.NewNotFound(pods, "a"), apierrors.NewNotFound(pods, "a"), nil}, nil},
		"not ready yet":     {[]error{apierrors.NewForbidden(pods, "a", refused), apierrors.NewServiceUnavailable("later"), apierrors.NewInternalError(refused), nil}, nil},
		"refused":           {[]error{refused}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			err := ensure(t.Context(), func() error { calls++; return tc.answers[calls-1] })
			if !errors.Is(err, tc.want) || calls != len(tc.answers) {
				t.Errorf("ensure() = %v after %d calls", err, calls)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		if err := ensure(t.Context(), func() error { return apierrors.NewInternalError(refused) }); !apierrors.IsInternalError(err) {
			t.Errorf("ensure() = %v, want the last answer", err)
		}
	})
}

func TestBootstrapMakesTheDefaultObjects(t *testing.T) {
	client := fake.NewClientset()
	for range 2 {
		if err := createDefaults(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		// The second time everything is there, and so is a webhook of the user's.
		client.PrependReactor("create", "*", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("refused") })
	}
	for _, name := range []string{"cluster-admin", "admin", "edit", "view", "system:controller:deployment-controller"} {
		if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := client.SchedulingV1().PriorityClasses().Get(t.Context(), "system-node-critical", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	roles, err := client.RbacV1().Roles("kube-system").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(roles.Items) == 0 {
		t.Errorf("roles in kube-system = %v, %v", roles, err)
	}
}

func TestBootstrapEndsWithTheFirstError(t *testing.T) {
	client := fake.NewClientset()
	refused := errors.New("refused")
	client.PrependReactor("create", "clusterroles", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
	if err := createDefaults(t.Context(), client); !errors.Is(err, refused) {
		t.Errorf("createDefaults() = %v, want %v", err, refused)
	}
}

// TestWhatTheUserRefusesOrDeletes does not keep a cluster from starting, and does
// not come back.
func TestWhatTheUserRefusesOrDeletes(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "services", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("refused") })
	var out strings.Builder
	s := &server{client: client, log: log.New(&out, "", 0), local: &localServices{}}
	if err := s.registerMetrics(t.Context()); err != nil || out.String() != "going on without the metrics API: refused\n" {
		t.Errorf("%v, log %q", err, out.String())
	}
	out.Reset()
	many, old := simulatedNode(2, "v1"), simulatedNode(1, "v1")
	nodes := fake.NewClientset(many, old)
	s.client, s.Nodes = nodes, 1
	synctest.Test(t, func(t *testing.T) {
		for _, verb := range []string{"patch", "delete"} { // by a webhook that nobody serves
			nodes.PrependReactor(verb, "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewInternalError(errors.New("refused"))
			})
		}
		if begin := time.Now(); s.makeNodes(t.Context()) != nil || time.Since(begin) > settleTime/2 {
			t.Errorf("nodes cannot be adjusted, which held up the start for %s", time.Since(begin))
		}
	})
	for _, want := range []string{"going on with nodes as an earlier start left them: ", "set the version of node node-1: ", "delete node node-2: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the log: %s", want, out.String())
		}
	}
	for uid, want := range map[string]int{"": 1, "started": 0} {
		s.client, s.now.UID = fake.NewClientset(), uid
		if err := s.createStorageClass(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := s.client.StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != want {
			t.Errorf("UID %q: %v, %v", uid, list, err)
		}
	}
}

func TestClaimsGetVolumesAndVolumesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := claim(func(*corev1.PersistentVolumeClaim) {})
		client := fake.NewClientset(c)
		claims, volumes := client.CoreV1().PersistentVolumeClaims(c.Namespace), client.CoreV1().PersistentVolumes()
		var answer error // to each write
		writes := 0
		for _, verb := range []string{"create", "delete"} {
			client.PrependReactor(verb, "persistentvolumes", func(k8stesting.Action) (bool, runtime.Object, error) {
				writes++
				return answer != nil, nil, answer
			})
		}
		var out strings.Builder
		s := &server{client: client, log: log.New(&out, "", 0)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var made *corev1.PersistentVolume
		update := func() error {
			if made == nil {
				_, err := claims.Update(ctx, c, metav1.UpdateOptions{})
				return err
			}
			_, err := volumes.UpdateStatus(ctx, made, metav1.UpdateOptions{})
			return err
		}
		// again sends another event of the claim, or of its volume once it is made.
		again := func(gets error, wantWrites int, wantLog string) {
			t.Helper()
			answer, writes = gets, 0
			out.Reset()
			err := update()
			synctest.Wait()
			if err != nil || writes != wantWrites || out.String() != wantLog {
				t.Errorf("%v, %d writes, log %q, want %d and %q", err, writes, out.String(), wantWrites, wantLog)
			}
		}
		there := apierrors.NewAlreadyExists(schema.GroupResource{}, "x")
		gone := apierrors.NewNotFound(schema.GroupResource{}, "x")
		answer = there
		go func() { _ = s.runClaims(ctx) }()
		synctest.Wait()
		again(there, 1, "")
		again(gone, 1, "make a volume for claim default/data:  \"x\" not found\n")
		again(nil, 1, "")
		again(nil, 0, "") // the volume is there
		var err error
		if made, err = volumes.Get(ctx, "pvc-u-1", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		made.Status.Phase = corev1.VolumeReleased
		again(there, 1, "remove the volume pvc-u-1:  \"x\" already exists\n")
		again(gone, 1, "")
		again(nil, 1, "")
		if list, err := volumes.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
			t.Errorf("volumes = %v, %v", list, err)
		}
	})
}

// answers is discovery that counts how often it was asked.
type answers struct {
	discovery.ServerResourcesInterface
	calls int
	err   error
}

func (a *answers) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	a.calls++
	return []*metav1.APIResourceList{{GroupVersion: "v1"}}, a.err
}

func TestFreshDiscovery(t *testing.T) {
	server, now := &answers{}, noon
	changed := 0
	d := &freshDiscovery{ServerResourcesInterface: server, now: func() time.Time { return now }, changed: func() { changed++ }}
	look := func(want int, when string) {
		t.Helper()
		if _, err := d.ServerPreferredResources(); !errors.Is(err, server.err) {
			t.Errorf("%s: %v", when, err)
		}
		if server.calls != want {
			t.Errorf("%s: the server was asked %d times, want %d", when, server.calls, want)
		}
	}
	look(1, "first look")
	look(1, "nothing touched")
	d.touch()
	look(2, "just touched")
	now = now.Add(lookFor)
	look(3, "still within the time")
	now = now.Add(time.Nanosecond)
	look(3, "after the time")
	d.touch()
	server.err = errors.New("down")
	look(4, "touched while down")
	now = now.Add(2 * lookFor)
	look(5, "still down: not all kinds are known")
	server.err = nil
	look(6, "up again")
	look(6, "the last good answer is repeated")
	if changed != 2 {
		t.Errorf("told of %d changes, want 2", changed)
	}
}

func TestEnabledControllersExist(t *testing.T) {
	known := app.KnownControllers()
	for _, name := range enabledControllers() {
		if !slices.Contains(known, name) {
			t.Errorf("there is no controller %s", name)
		}
	}
}

func TestKWOKStages(t *testing.T) {
	stages, err := kwokStages()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ref, list := range stages {
		if ref.Kind != "Pod" && ref.Kind != "Node" {
			t.Errorf("stages for %v", ref)
		}
		n += len(list)
	}
	if n != 5 {
		t.Errorf("%d stages, want 5", n)
	}
}

func TestParseFlags(t *testing.T) {
	var sets cliflag.NamedFlagSets
	value := sets.FlagSet("one").String("name", "", "")
	if err := parseFlags(sets, []string{"--name=x"}); err != nil || *value != "x" {
		t.Errorf("parseFlags() = %v, name = %q", err, *value)
	}
	if err := parseFlags(sets, []string{"--other=x"}); err == nil {
		t.Error("parseFlags() of an unknown flag = nil")
	}
}

func TestAPIServerStaysOnLoopback(t *testing.T) {
	flags := (&server{}).apiServerFlags()
	for _, want := range []string{"--bind-address=127.0.0.1", "--authorization-mode=RBAC"} {
		if !slices.Contains(flags, want) {
			t.Errorf("flags lack %s", want)
		}
	}
}

func TestKubeconfig(t *testing.T) {
	l := state.Layout{Dir: t.TempDir()}
	p := mustPKI(t, l.PKI(), noon)
	s := state.State{Name: "dev", Server: "https://127.0.0.1:20001"}
	if err := writeKubeconfig(l.Kubeconfig(), s, p); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != s.Server || string(config.CAData) != string(p.ca.cert) || string(config.KeyData) != string(p.admin.key) {
		t.Errorf("config = %v", config)
	}
	raw, err := clientcmd.LoadFromFile(l.Kubeconfig())
	if err != nil || raw.CurrentContext != "mysdk-dev" {
		t.Errorf("current context = %q, %v", raw.CurrentContext, err)
	}

	raw.Clusters["far"], raw.AuthInfos["me"] = &clientcmdapi.Cluster{Server: "https://far.example.com"}, &clientcmdapi.AuthInfo{Token: "secret"}
	raw.Contexts["far"], raw.CurrentContext = &clientcmdapi.Context{Cluster: "far", AuthInfo: "me"}, "far"
	raw.Contexts["mysdk-dev"].Namespace = "shop"
	if err := clientcmd.WriteToFile(*raw, l.Kubeconfig()); err != nil {
		t.Fatal(err)
	}
	for _, s.Server = range []string{"https://127.0.0.1:20002", "https://127.0.0.1:20003"} {
		if err := writeKubeconfig(l.Kubeconfig(), s, p); err != nil {
			t.Fatal(err)
		}
	}
	raw, err = clientcmd.LoadFromFile(l.Kubeconfig())
	if err != nil || raw.CurrentContext != "mysdk-dev" || raw.AuthInfos["me"].Token != "secret" || raw.Contexts["mysdk-dev"].Namespace != "shop" || raw.Clusters["mysdk-dev"].Server != s.Server {
		t.Errorf("with a cluster of another tool: %+v, %v", raw, err)
	}
	if err := os.WriteFile(l.Kubeconfig(), []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeKubeconfig(l.Kubeconfig(), s, p); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(l.Kubeconfig() + ".broken"); string(data) != "a: [" {
		t.Errorf("what could not be read is %q, %v", data, err)
	}

	if err := writeKubeconfig(l.Dir+"/gone/kubeconfig", s, p); err == nil {
		t.Error("writeKubeconfig() without its directory = nil")
	}
	if _, err := connect(s.Server, pki{ca: pair{cert: []byte("x")}}); err == nil {
		t.Error("connect() without certificates = nil")
	}
}

func TestEtcdKeepsToItsSockets(t *testing.T) {
	s := &server{layout: state.Layout{Dir: "/c"}, now: state.State{RuntimeDir: "/c/run"}, log: log.Default()}
	c := s.etcdConfig()
	for _, u := range append(c.ListenClientUrls, c.ListenPeerUrls...) {
		if u.Scheme != "unix" || !strings.HasPrefix(u.Path, "/c/run/") || len(u.Path) > len("/c/run/"+longestSocket) {
			t.Errorf("etcd listens on %s", &u)
		}
	}
	if len(c.ListenMetricsUrls) > 0 || c.Dir != "/c/etcd" || !c.UnsafeNoFsync {
		t.Errorf("etcd's config: metrics on %v, data in %s, no fsync: %v", c.ListenMetricsUrls, c.Dir, c.UnsafeNoFsync)
	}
	s.FSync = true
	if s.etcdConfig().UnsafeNoFsync {
		t.Error("FSync does not reach etcd")
	}
}

func TestRelaxedGCComesBack(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	for given, want := range map[string]int{"": serverPercent, "70": 70} {
		t.Setenv("GOGC", given)
		debug.SetGCPercent(70) // as the runtime or a package has done by then
		relaxGC()()
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GC percent = %d with GOGC=%q, want %d", got, given, want)
		}
	}
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("memory limit = %d, want none", got)
	}
}
