package v4_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/yaml"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// uncomment takes one "#" from the line that begins with first and from the comment lines under it; a new
// block or a sentence of ours ends it.
func uncomment(t *testing.T, files map[string]string, name, first string) {
	t.Helper()
	lines := strings.Split(files[name], "\n")
	start := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, first) })
	if start < 0 {
		t.Fatalf("%s has no line %q", name, first)
	}
	lines[start] = lines[start][1:]
	for i := start + 1; i < len(lines) && regexp.MustCompile(`^#  `).MatchString(lines[i]); i++ {
		lines[i] = lines[i][1:]
	}
	files[name] = strings.Join(lines, "\n")
}

// withEverySection is a project with every optional section of config/default turned on.
func withEverySection(t *testing.T) map[string]string {
	t.Helper()
	files := v4.WithWebhooks(t)
	files["config/crd/bases/cache.example.com_memcacheds.yaml"] = "apiVersion: apiextensions.k8s.io/v1\n" +
		"kind: CustomResourceDefinition\nmetadata:\n  name: memcacheds.cache.example.com\nspec: {}\n"
	files["config/webhook/manifests.yaml"] = "apiVersion: admissionregistration.k8s.io/v1\n" +
		"kind: ValidatingWebhookConfiguration\nmetadata:\n  name: validating-webhook-configuration\n" +
		"---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: mutating-webhook-configuration\n"
	for _, first := range []string{
		"#labels:", "#- includeSelectors: true", "#- ../prometheus", "#- ../network-policy", "#- path: cert_metrics_manager_patch.yaml",
		"# - source: # Uncomment the following block to enable certificates for metrics", "# - source:",
	} {
		uncomment(t, files, "config/default/kustomization.yaml", first)
	}
	uncomment(t, files, "config/prometheus/kustomization.yaml", "#patches:")
	return files
}

func TestOptionalSections(t *testing.T) {
	objects := mustBuild(t, withEverySection(t), "config/default")

	for name, want := range map[string][]string{
		"serving-cert":  {"shop-webhook-service.shop-system.svc", "shop-webhook-service.shop-system.svc.cluster.local"},
		"metrics-certs": {"shop-controller-manager-metrics-service.shop-system.svc", "shop-controller-manager-metrics-service.shop-system.svc.cluster.local"},
	} {
		var certificate struct{ Spec struct{ DNSNames []string } }
		decode(t, objects, "Certificate", "shop-"+name, &certificate)
		if diff := cmp.Diff(want, certificate.Spec.DNSNames); diff != "" {
			t.Errorf("dnsNames of %s (-want +got):\n%s", name, diff)
		}
	}
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		for _, object := range objects.Resources() {
			if got := object.GetAnnotations()["cert-manager.io/inject-ca-from"]; object.GetKind() == kind && got != "shop-system/shop-serving-cert" {
				t.Errorf("%s trusts the certificate %q", kind, got)
			}
		}
	}

	var monitor struct {
		Spec struct {
			Endpoints []struct {
				Port      string
				TLSConfig struct {
					ServerName         string
					InsecureSkipVerify bool
				}
			}
		}
	}
	decode(t, objects, "ServiceMonitor", "shop-controller-manager-metrics-monitor", &monitor)
	tls := monitor.Spec.Endpoints[0].TLSConfig
	if tls.InsecureSkipVerify || tls.ServerName != "shop-controller-manager-metrics-service.shop-system.svc" {
		t.Errorf("the ServiceMonitor does not verify the metrics server: %+v", tls)
	}

	container := managerOf(t, objects).Spec.Template.Spec.Containers[0]
	want := []string{
		"--metrics-bind-address=:8443", "--leader-elect", "--health-probe-bind-address=:8081",
		"--metrics-cert-path=/tmp/k8s-metrics-server/metrics-certs",
		"--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs", "--webhook-port=9443",
	}
	if diff := cmp.Diff(want, container.Args); diff != "" {
		t.Errorf("arguments of the manager (-want +got):\n%s", diff)
	}
}

func TestBundleLeavesOutWebhookVolume(t *testing.T) {
	files := withEverySection(t)
	lines := strings.Split(files["config/manifests/kustomization.yaml"], "\n")
	start := slices.Index(lines, "#patches:")
	for i := start; i < len(lines); i++ {
		lines[i] = strings.TrimPrefix(lines[i], "#")
	}
	files["config/manifests/kustomization.yaml"] = strings.Join(lines, "\n")

	spec := managerOf(t, mustBuild(t, files, "config/manifests")).Spec.Template.Spec
	if len(spec.Volumes) != 1 || spec.Volumes[0].Name != "metrics-certs" {
		t.Errorf("volumes %+v: want metrics-certs alone", spec.Volumes)
	}
	if mounts := spec.Containers[0].VolumeMounts; len(mounts) != 1 || mounts[0].Name != "metrics-certs" {
		t.Errorf("volume mounts %+v: want metrics-certs alone", mounts)
	}
}

func TestBundleTakesBaseOnceItIsThere(t *testing.T) {
	files := render(t, "init", newProject())
	const base = "bases/shop.clusterserviceversion.yaml"
	files["config/manifests/"+base] = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: shop.v0.0.0\n  namespace: placeholder\n"
	replace(t, files, "config/manifests/kustomization.yaml", "#- "+base, "- "+base)
	if got := names(mustBuild(t, files, "config/manifests")); !slices.Contains(got, "placeholder: ClusterServiceVersion/shop.v0.0.0") {
		t.Errorf("config/manifests has no base: %s", got)
	}
}

func TestScorecardHasEveryTest(t *testing.T) {
	var config struct {
		Stages []struct {
			Tests []struct {
				Image  string
				Labels map[string]string
			}
		}
	}
	decode(t, mustBuild(t, render(t, "init", newProject()), "config/scorecard"), "Configuration", "config", &config)
	var got []string
	for _, test := range config.Stages[0].Tests {
		got = append(got, test.Labels["suite"]+" "+test.Labels["test"])
		if test.Image != "quay.io/operator-framework/scorecard-test:v1.42.3" {
			t.Errorf("%s: image %s", test.Labels["test"], test.Image)
		}
	}
	want := []string{
		"basic basic-check-spec-test", "olm olm-bundle-validation-test", "olm olm-crds-have-validation-test",
		"olm olm-crds-have-resources-test", "olm olm-spec-descriptors-test", "olm olm-status-descriptors-test",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tests (-want +got):\n%s", diff)
	}
}

// deployment is what the tests read of a Deployment.
type deployment struct {
	Spec struct{ Template struct{ Spec podSpec } }
}

type podSpec struct {
	SecurityContext struct {
		RunAsNonRoot   bool
		SeccompProfile struct{ Type string }
	}
	Containers []container
	Volumes    []struct{ Name string }
}

type container struct {
	Name, Image     string
	Args            []string
	Env             []envVar
	VolumeMounts    []struct{ Name string }
	SecurityContext struct {
		AllowPrivilegeEscalation *bool
		ReadOnlyRootFilesystem   bool
		Privileged               bool
		Capabilities             struct{ Add, Drop []string }
	}
}

type envVar struct {
	Name, Value string
	ValueFrom   struct {
		FieldRef struct {
			FieldPath string
		}
	}
}

func managerOf(t *testing.T, objects resmap.ResMap) deployment {
	t.Helper()
	var d deployment
	decode(t, objects, "Deployment", "shop-controller-manager", &d)
	if len(d.Spec.Template.Spec.Containers) != 1 || d.Spec.Template.Spec.Containers[0].Name != "manager" {
		t.Fatalf("want one container, called manager: %+v", d.Spec.Template.Spec.Containers)
	}
	return d
}

func decode(t *testing.T, objects resmap.ResMap, kind, name string, into any) {
	t.Helper()
	for _, object := range objects.Resources() {
		if object.GetKind() != kind || object.GetName() != name {
			continue
		}
		text, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no %s %s among %s", kind, name, names(objects))
}

// The rules are those of the "restricted" profile of the Pod Security Standards, for the fields that we set.
func TestManagerMeetsRestrictedPodSecurity(t *testing.T) {
	for name, data := range layouts() {
		t.Run(name, func(t *testing.T) {
			spec := managerOf(t, mustBuild(t, render(t, "init", data), "config/default")).Spec.Template.Spec
			if !spec.SecurityContext.RunAsNonRoot || spec.SecurityContext.SeccompProfile.Type != "RuntimeDefault" {
				t.Errorf("pod: %+v", spec.SecurityContext)
			}
			got := spec.Containers[0].SecurityContext
			if got.AllowPrivilegeEscalation == nil || *got.AllowPrivilegeEscalation || got.Privileged || !got.ReadOnlyRootFilesystem {
				t.Errorf("container: %+v", got)
			}
			if diff := cmp.Diff([]string{"ALL"}, got.Capabilities.Drop); diff != "" || len(got.Capabilities.Add) > 0 {
				t.Errorf("capabilities: %+v", got.Capabilities)
			}
		})
	}
}

func TestEnvironmentOfTheManager(t *testing.T) {
	for name, data := range layouts() {
		t.Run(name, func(t *testing.T) {
			want := make([]envVar, 1, 2)
			want[0].Name = "POD_NAMESPACE"
			want[0].ValueFrom.FieldRef.FieldPath = "metadata.namespace"
			if data.Namespaced {
				want = append(want, want[0])
				want[1].Name = "WATCH_NAMESPACE"
			}
			got := managerOf(t, mustBuild(t, render(t, "init", data), "config/default")).Spec.Template.Spec.Containers[0].Env
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("environment of the manager (-want +got):\n%s", diff)
			}
		})
	}
}

// kubebuilder's deploy-image plugin adds its variable after the first "env:".
func TestDeployImageFindsItsPlace(t *testing.T) {
	files := render(t, "init", newProject())
	const name = "config/manager/manager.yaml"
	files[name] = strings.Replace(files[name], "env:", "env:\n        - name: MEMCACHED_IMAGE\n          value: memcached:1.6", 1)
	got := managerOf(t, mustBuild(t, files, "config/default")).Spec.Template.Spec.Containers[0].Env
	if len(got) != 2 || got[0].Name != "MEMCACHED_IMAGE" {
		t.Errorf("environment of the manager: %+v", got)
	}
}
