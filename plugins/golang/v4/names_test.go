package v4

import (
	"go/token"
	"strings"
	"testing"

	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/clierr"
)

// refused checks that err says what it has to and knows what to do.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("accepted: want an error with %q", want)
	case !strings.Contains(err.Error(), want):
		t.Errorf("the error is %q: want %q in it", err, want)
	case clierr.HintOf(err) == "":
		t.Errorf("%q comes without a hint", err)
	}
}

func TestRefusedNames(t *testing.T) {
	for name, test := range map[string]struct {
		init, first []string // flags of init, and of an API that is there already
		args        []string
		want        string
	}{
		"group with upper case":      {args: []string{"--group=Cache", "--kind=Memcached"}, want: `group "Cache"`},
		"group with underscore":      {args: []string{"--group=ca_che", "--kind=Memcached"}, want: "not a DNS name"},
		"group that begins with -":   {args: []string{"--group=-cache", "--kind=Memcached"}, want: "not a DNS name"},
		"group with a path":          {args: []string{"--group=../cache", "--kind=Memcached"}, want: "not a DNS name"},
		"group too long":             {args: []string{"--group=" + strings.Repeat("a", 250), "--kind=M"}, want: "more than 253"},
		"version without v":          {args: []string{"--group=cache", "--version=1", "--kind=Memcached"}, want: `version "1"`},
		"version in upper case":      {args: []string{"--group=cache", "--version=V1", "--kind=Memcached"}, want: `version "V1"`},
		"version with a dot":         {args: []string{"--group=cache", "--version=v1.0", "--kind=Memcached"}, want: `version "v1.0"`},
		"version with a zero":        {args: []string{"--group=cache", "--version=v01", "--kind=Memcached"}, want: `version "v01"`},
		"version half alpha":         {args: []string{"--group=cache", "--version=v1alpha", "--kind=Memcached"}, want: `version "v1alpha"`},
		"version latest":             {args: []string{"--group=cache", "--version=latest", "--kind=Memcached"}, want: `version "latest"`},
		"no kind":                    {args: []string{"--group=cache"}, want: `kind ""`},
		"kind in lower case":         {args: []string{"--group=cache", "--kind=memcached"}, want: `kind "memcached"`},
		"kind with a dash":           {args: []string{"--group=cache", "--kind=Mem-Cached"}, want: `kind "Mem-Cached"`},
		"kind that begins with 1":    {args: []string{"--group=cache", "--kind=1Cache"}, want: `kind "1Cache"`},
		"kind too long":              {args: []string{"--group=cache", "--kind=" + strings.Repeat("A", 60)}, want: "at most 59"},
		"kind of every group":        {args: []string{"--group=cache", "--kind=ListOptions"}, want: "of its own"},
		"kind of every client":       {args: []string{"--group=cache", "--kind=List"}, want: "of their own"},
		"kind of groupversion_info":  {args: []string{"--group=cache", "--kind=SchemeBuilder"}, want: "declares SchemeBuilder"},
		"plural in upper case":       {args: []string{"--group=cache", "--kind=Memcached", "--plural=MEMS"}, want: `plural "MEMS"`},
		"plural too long":            {args: []string{"--group=cache", "--kind=Memcached", "--plural=" + strings.Repeat("m", 64)}, want: "not a DNS label"},
		"plural with a slash":        {args: []string{"--group=cache", "--kind=Memcached", "--plural=mem/cached"}, want: "not a DNS label"},
		"plural of a verb":           {args: []string{"--group=cache", "--kind=Memcached", "--plural=watch"}, want: "a verb in the paths"},
		"controller with a path":     {args: []string{"--group=cache", "--kind=Memcached", "--controller-name=../x"}, want: "controller name"},
		"group internal as a folder": {init: []string{"--multigroup"}, args: []string{"--group=internal", "--kind=Memcached"}, want: "a meaning of its own"},
		"group vendor as a folder":   {init: []string{"--multigroup"}, args: []string{"--group=vendor", "--kind=Memcached"}, want: "a meaning of its own"},
		"group testdata as a folder": {init: []string{"--multigroup"}, args: []string{"--group=testdata", "--kind=Memcached"}, want: "a meaning of its own"},
		"group aux as a folder":      {init: []string{"--multigroup"}, args: []string{"--group=aux.x", "--kind=Memcached"}, want: "a device"},
		"cluster-scoped kind in a restricted manager": {
			init: []string{"--namespaced"}, args: []string{"--group=cache", "--kind=Zone", "--namespaced=false"}, want: "cluster-scoped"},
		"cluster-scoped built-in kind in a restricted manager": {
			init: []string{"--namespaced"}, args: []string{"--group=core", "--version=v1", "--kind=Node", "--resource=false"}, want: "cluster-scoped"},
		"controller of the name of another kind's": {
			first: []string{"--group=cache", "--kind=MemcachedBackup"}, args: []string{"--group=cache", "--kind=Memcached", "--controller-name=memcached-backup"},
			want: "internal/controller/memcachedbackup_controller.go declares"},
		"second group": {
			first: []string{"--group=cache", "--kind=Memcached"}, args: []string{"--group=shop", "--kind=Shelf"}, want: "single-group layout"},
		"kind of the list of another": {
			first: []string{"--group=cache", "--kind=Memcached"}, args: []string{"--group=cache", "--kind=MemcachedList"}, want: "Go type MemcachedList"},
		"kind whose list is another": {
			first: []string{"--group=cache", "--kind=MemcachedList"}, args: []string{"--group=cache", "--kind=Memcached"}, want: "Go type MemcachedList"},
		"kind of the status of another": {
			first: []string{"--group=cache", "--kind=Memcached"}, args: []string{"--group=cache", "--kind=MemcachedStatus"}, want: "Go type MemcachedStatus"},
		"kind in other case": {
			first: []string{"--group=cache", "--kind=Memcached"}, args: []string{"--group=cache", "--kind=MemCached"}, want: "upper and lower case"},
		"plural of another": {
			first: []string{"--group=cache", "--kind=Person", "--plural=people"}, args: []string{"--group=cache", "--kind=People", "--plural=people"}, want: "that of Person"},
		"other plural in another version": {
			first: []string{"--group=cache", "--kind=Foo", "--plural=foocaches"}, args: []string{"--group=cache", "--version=v1", "--kind=Foo"}, want: `differs from "foocaches"`},
		"other scope in another version": {
			first: []string{"--group=cache", "--kind=Memcached"}, args: []string{"--group=cache", "--version=v1", "--kind=Memcached", "--namespaced=false"}, want: "scope"},
		"API that is there": {
			first: []string{"--group=cache", "--kind=Memcached"}, args: []string{"--group=cache", "--kind=Memcached"}, want: "in this project already"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProject(t, test.init...)
			if test.first != nil {
				p.mustCreateAPI(t, test.first...)
			}
			_, err := p.createAPI(t, test.args...)
			refused(t, err, test.want)
		})
	}
}

// Names that look dangerous and are not. TestScaffoldsBuild compiles them.
func TestAcceptedNames(t *testing.T) {
	p := newTestProject(t, "--multigroup")
	for _, args := range awkwardAPIs {
		p.mustCreateAPI(t, strings.Fields(args)...)
	}
	p.checkFiles(t)

	single := newTestProject(t)
	single.mustCreateAPI(t, "--group=internal", "--kind=Type")
	single.checkFiles(t)
	noGroup := newTestProject(t)
	noGroup.mustCreateAPI(t, "--kind=Memcached")
	noGroup.checkFiles(t)
}

// awkwardAPIs are kinds, groups and combinations of them that collide with
// what Go or the scaffold itself calls so, unless somebody took care.
var awkwardAPIs = []string{
	"--group=apps --version=v1 --kind=Deployment --resource=false",
	"--group=apps --version=v1 --kind=Pod",
	"--group=core --version=v1 --kind=Pod --resource=false",
	"--group=core --version=v1 --kind=Type --namespaced=false",
	"--group=meta --version=v1 --kind=ObjectMeta",
	"--group=cache --kind=Status",
	"--group=cache --kind=Spec --plural=spec",
	"--group=cache --kind=Object",
	"--group=cache --kind=String --pattern=blank --plural=strungs",
	"--group=cache --kind=PriceList --pattern=blank --namespaced=false",
	"--group=cache --kind=Memcached --controller=false",
	"--group=cache --kind=Memcached --resource=false --controller-name=memcached-backup",
	"--group=cache --kind=Memcached --version=v1",
	"--group=cache.x-y --kind=Memcached --image-container-port=11211 --image-container-command=memcached,-m,64 --run-as-user=",
	"--group=func --kind=Interface",
	"--group=main --kind=M",
	"--group=init --kind=MEMCACHED",
	"--group=9cache --kind=Scheme",
	"--group=type --kind=Error",
}

func TestIdentifiers(t *testing.T) {
	for name, test := range map[string]struct {
		gvk            resource.GVK
		core           bool
		alias, pkgName string
	}{
		"plain":             {gvk: resource.GVK{Group: "cache", Version: "v1alpha1"}, alias: "cachev1alpha1", pkgName: "cache"},
		"dots and dashes":   {gvk: resource.GVK{Group: "cache.x-y", Version: "v1"}, alias: "cachexyv1", pkgName: "cachexy"},
		"no group":          {gvk: resource.GVK{Domain: "example.com", Version: "v1"}, alias: "examplecomv1", pkgName: "examplecom"},
		"digit":             {gvk: resource.GVK{Group: "9cache", Version: "v1"}, alias: "group9cachev1", pkgName: "group9cache"},
		"keyword":           {gvk: resource.GVK{Group: "func", Version: "v1"}, alias: "funcv1", pkgName: "funccontroller"},
		"main":              {gvk: resource.GVK{Group: "main", Version: "v1"}, alias: "mainv1", pkgName: "maincontroller"},
		"imported":          {gvk: resource.GVK{Group: "meta", Version: "v1"}, alias: "metaapiv1", pkgName: "meta"},
		"imported, another": {gvk: resource.GVK{Group: "meta", Version: "v2"}, alias: "metav2", pkgName: "meta"},
		"built in":          {gvk: resource.GVK{Group: "apps", Version: "v1"}, core: true, alias: "appsv1", pkgName: "apps"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := importAlias(test.gvk, test.core); got != test.alias || !token.IsIdentifier(got) {
				t.Errorf("the alias is %q, want %q", got, test.alias)
			}
			if got := packageName(test.gvk); got != test.pkgName || !token.IsIdentifier(got) {
				t.Errorf("the package is %q, want %q", got, test.pkgName)
			}
		})
	}
}

func TestMetricNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, pair := range [][2]string{
		{"a", "b-c"}, {"a-b", "c"}, {"a.b", "c"}, {"a", "b"}, {"9a", "b"}, {"group9a", "b"},
	} {
		name := metricName(pair[0], pair[1])
		if other, taken := seen[name]; taken {
			t.Errorf("group %s, controller %s: %s is also the name for %s", pair[0], pair[1], name, other)
		}
		seen[name] = pair[0] + " " + pair[1]
		if !token.IsIdentifier(name) {
			t.Errorf("%q is no name for a metric", name)
		}
	}
}

// An API server refuses events of a controller with a longer name.
func TestNamesOfEventRecorders(t *testing.T) {
	long := "m" + strings.Repeat("e", 58)
	for name, want := range map[string]string{
		"memcached": "memcached-controller",
		long:        long[:maxLabel-len("-controller")] + "-controller",
	} {
		p := newTestProject(t)
		p.mustCreateAPI(t, "--group=cache", "--kind=M"+name[1:])
		code := p.files(t)["internal/controller/"+name+"_controller.go"]
		if !strings.Contains(code, "mgr.GetEventRecorder(\""+want+"\")") {
			t.Errorf("the recorder is not called %s:\n%s", want, code)
		}
	}
}
