package migrate

import "testing"

func TestFakes(t *testing.T) {
	fake := `"sigs.k8s.io/controller-runtime/pkg/client/fake"`
	kinds := map[string][]string{"example.com/api/v1": {"Cache", "Store"}}
	runPasses(t, map[string]passCase{
		"without a scheme":        {fake, "var c = fake.NewFakeClient(a, b)", "", "var c = fake.NewClientBuilder().WithRuntimeObjects(a, b).Build()"},
		"objects in a slice":      {fake, "var c = fake.NewFakeClient(objs...)", "", "var c = fake.NewClientBuilder().WithRuntimeObjects(objs...).Build()"},
		"without objects":         {fake, "var c = fake.NewFakeClientWithScheme(s)", "", "var c = fake.NewClientBuilder().WithScheme(s).WithRuntimeObjects().Build()"},
		"of today":                {fake, "var c = fake.NewClientBuilder().Build()", "", ""},
		"of client-go":            {`"k8s.io/client-go/kubernetes/fake"`, "var c = fake.NewFakeClient(a)", "", ""},
		"a variable of that name": {fake, "func f(fake factory) { fake.NewFakeClient(a) }\n\nvar b = fake.NewClientBuilder()", "", ""},
		"own kinds, once each": {
			fake + `; api "example.com/api/v1"`, "var a, b, l, s = &api.Store{}, &api.Cache{}, &api.CacheList{}, &api.Store{}\nvar c = fake.NewFakeClient(a)",
			"", "var a, b, l, s = &api.Store{}, &api.Cache{}, &api.CacheList{}, &api.Store{}\nvar c = fake.NewClientBuilder().WithStatusSubresource(&api.Cache{}, &api.Store{}).WithRuntimeObjects(a).Build()",
		},
	}, fakeClients(kinds))
}

func TestLoggers(t *testing.T) {
	crLogs, zaps := `logf "sigs.k8s.io/controller-runtime/pkg/log"`, `"sigs.k8s.io/controller-runtime/pkg/log/zap"`
	runPasses(t, map[string]passCase{
		"of controller-runtime": {
			`logf "sigs.k8s.io/controller-runtime/pkg/runtime/log"`, "func f() { logf.SetLogger(logf.ZapLogger(true)) }",
			crLogs + "; " + zaps, "func f() { logf.SetLogger(zap.New(zap.UseDevMode(true))) }",
		},
		"of operator-sdk": {
			`"github.com/operator-framework/operator-sdk/pkg/log/zap"`, "func f() { g(zap.Logger()) }",
			zaps, "func f() { g(zap.New()) }",
		},
		"of operator-sdk, twice": {
			`"github.com/operator-framework/operator-sdk/pkg/log/zap"`, "func f() { g(zap.Logger(), zap.Logger()) }",
			zaps, "func f() { g(zap.New(), zap.New()) }",
		},
		"of operator-sdk under another name": {
			`sdkzap "github.com/operator-framework/operator-sdk/pkg/log/zap"`, "func f() { g(sdkzap.Logger()) }",
			"sdkzap " + zaps, "func f() { g(sdkzap.New()) }",
		},
		"of uber": {`"go.uber.org/zap"`, "func f() { g(zap.Logger()) }", "", ""},
	}, commonPasses(nil)...)
}
