package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// The parts of a chain, of which the tests put some together. All of them are
// as a cluster has them while an operator is being installed.
const (
	subYAML = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: shop, namespace: ns}
spec: {name: shop, channel: alpha, source: shop-catalog, sourceNamespace: ns, startingCSV: shop.v1}
`
	sourceYAML = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: shop-catalog, namespace: ns}
spec: {sourceType: grpc, address: "shop-catalog.ns.svc:50051"}
status: {connectionState: {lastObservedState: READY, address: "shop-catalog.ns.svc:50051"}}
`
	groupYAML = `
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: mysdk-operators, namespace: ns, labels: {mysdk.dev/run: shop}}
spec: {targetNamespaces: [ns]}
`
	csvYAML = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v1, namespace: ns, uid: csv-1}
spec:
  installModes: [{type: AllNamespaces, supported: true}, {type: OwnNamespace, supported: false}]
  customresourcedefinitions: {owned: [{name: carts.shop.example.com, kind: Cart, version: v1}]}
status: `
	deploymentYAML = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-manager, namespace: ns, uid: dep-1, ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: shop.v1, uid: csv-1}]}
spec: {replicas: 1}
status: {availableReplicas: 0, updatedReplicas: 1, unavailableReplicas: 1, conditions: [{type: Available, status: "False", reason: MinimumReplicasUnavailable, message: not enough}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: shop-manager-abc, namespace: ns, uid: rs-1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: shop-manager, uid: dep-1}]}
spec: {replicas: 1}
`
	podYAML = `
---
apiVersion: v1
kind: Pod
metadata: {name: shop-manager-abc-1, namespace: ns, uid: pod-1, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: shop-manager-abc, uid: rs-1}]}
spec: {containers: [{name: manager, image: "shop:v1"}]}
status: `
	accountPodYAML = `
---
apiVersion: v1
kind: Pod
metadata: {name: shop-manager-abc-1, namespace: ns, uid: pod-1, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: shop-manager-abc, uid: rs-1}]}
spec: {serviceAccountName: shop, containers: [{name: manager, image: "shop:v1"}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`
	readyYAML = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-manager, namespace: ns, uid: dep-1, ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: shop.v1, uid: csv-1}]}
spec: {replicas: 1}
status: {availableReplicas: 1, updatedReplicas: 1, conditions: [{type: Available, status: "True"}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: shop-manager-abc, namespace: ns, uid: rs-1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: shop-manager, uid: dep-1}]}
spec: {replicas: 1}
`
	installing = "{phase: Installing, reason: InstallWaiting, message: 'installing: waiting for deployment shop-manager to become ready'}\n"
	succeeded  = "{phase: Succeeded, reason: InstallSucceeded}\n"
	subWith    = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: shop, namespace: ns}
spec: {name: shop, channel: alpha, source: shop-catalog, sourceNamespace: ns, startingCSV: shop.v1}
status: `
)

// replaceState puts another connection state into a CatalogSource.
func replaceState(source, state string) string {
	return strings.ReplaceAll(source, "lastObservedState: READY", "lastObservedState: "+state)
}

// TestDiagnose walks chains that are broken at one object each.
func TestDiagnose(t *testing.T) {
	tests := map[string]struct {
		world string
		log   string
		want  string // object and problem; "" is healthy
		hint  string // a part of it
		after string // "waits" for one that is not final
	}{
		"nothing there": {world: groupYAML, want: "Subscription ns/shop: there is none of this package", after: "waits"},
		"catalog missing": {world: subYAML,
			want: "CatalogSource ns/shop-catalog: does not exist, and Subscription shop takes its operator from it", hint: "spec.source"},
		"catalog out of reach": {world: subYAML + replaceState(sourceYAML, "TRANSIENT_FAILURE"),
			want: "CatalogSource ns/shop-catalog: its catalog cannot be reached at shop-catalog.ns.svc:50051 (gRPC connection TRANSIENT_FAILURE)"},
		"catalog's pod without image": {
			world: subYAML + replaceState(sourceYAML, "CONNECTING") + `
---
apiVersion: v1
kind: Pod
metadata: {name: shop-catalog-x, namespace: ns, labels: {olm.catalogSource: shop-catalog}}
status: {phase: Pending, containerStatuses: [{name: registry-server, image: "r.example.com/c:1", state: {waiting: {reason: ImagePullBackOff, message: "401 unauthorized"}}}]}`,
			want: "Pod ns/shop-catalog-x: the image r.example.com/c:1 of container registry-server cannot be pulled", hint: "--pull-secret-name"},
		"catalog that OLM refuses": {
			world: subYAML + strings.ReplaceAll(sourceYAML, "status: {connectionState: {lastObservedState: READY,", "status: {reason: SpecInvalidError, message: bad address, connectionState: {lastObservedState: '',"),
			want:  "CatalogSource ns/shop-catalog: OLM cannot use it: bad address"},
		"subscription is new": {world: subYAML + sourceYAML, want: "Subscription ns/shop: OLM has not made an InstallPlan for it yet", after: "waits"},
		"another catalog in the way": {
			world: subWith + `{conditions: [{type: ResolutionFailed, status: "True", reason: ErrorPreventedResolution, message: "error using catalogsource olm/far: failed to list bundles: rpc error"}]}` +
				sourceYAML + strings.NewReplacer("shop-catalog", "far", "namespace: ns", "namespace: olm", ".ns.svc", ".olm.svc").Replace(replaceState(sourceYAML, "TRANSIENT_FAILURE")),
			want: "CatalogSource olm/far: its catalog cannot be reached at far.olm.svc:50051 (gRPC connection TRANSIENT_FAILURE); and OLM resolves nothing in namespace ns until it can",
			hint: "mysdk kubectl delete catalogsource -n olm far"},
		"another catalog with nothing in it": {
			world: subWith + `{conditions: [{type: ResolutionFailed, status: "True", reason: ErrorPreventedResolution, message: "error using catalogsource ns/shop-catalog: failed to list bundles: rpc error: code = Unavailable desc = no content"}]}` + sourceYAML,
			want:  "CatalogSource ns/shop-catalog: its catalog cannot be read at shop-catalog.ns.svc:50051: no content; and OLM resolves nothing in namespace ns until it can",
		},
		"another catalog whose image cannot be pulled": {
			world: subWith + `{conditions: [{type: ResolutionFailed, status: "True", reason: ErrorPreventedResolution, message: "error using catalogsource ns/shop-catalog: failed to list bundles: rpc error: code = Unavailable desc = UNAUTHORIZED"}]}` +
				strings.Replace(sourceYAML, "address: ", "image: r.example.com/c:1, was: ", 1),
			want: "CatalogSource ns/shop-catalog: its catalog cannot be read from image r.example.com/c:1: UNAUTHORIZED; and OLM resolves nothing in namespace ns until it can",
		},
		"no such channel": {
			world: subWith + `{conditions: [{type: ResolutionFailed, status: "True", reason: ConstraintsNotSatisfiable, message: "constraints not satisfiable: no operators found in channel alpha of package shop in the catalog referenced by subscription shop"}]}` + sourceYAML,
			want:  `Subscription ns/shop: OLM finds no way to install it: the catalog has no channel "alpha" for package shop`, hint: "spec.channel"},
		"another Subscription in the way": {
			world: subWith + `{currentCSV: shop.v1, installedCSV: shop.v1, conditions: [{type: ResolutionFailed, status: "True", reason: ConstraintsNotSatisfiable, message: "constraints not satisfiable: no operators found in channel none of package nosuch in the catalog referenced by subscription typo, subscription typo exists"}]}` +
				strings.NewReplacer("{name: shop, namespace", "{name: typo, namespace", "name: shop, channel: alpha", "name: nosuch, channel: none").Replace(subYAML) + sourceYAML + csvYAML + succeeded + readyYAML,
			want: `Subscription ns/typo: OLM finds no way to install it: the catalog has no channel "none" for package nosuch; until that is solved, OLM installs and upgrades nothing in namespace ns`,
			hint: "mysdk cleanup nosuch -n ns"},
		"CSV without subscription": {
			world: subWith + `{conditions: [{type: ResolutionFailed, status: "True", reason: ConstraintsNotSatisfiable, message: "clusterserviceversion shop.v1 exists and is not referenced by a subscription"}]}` + sourceYAML,
			want:  "Subscription ns/shop: OLM finds no way to install it: a CSV of the package already exists, without a Subscription", hint: "mysdk cleanup shop -n ns"},
		"bundle's image out of reach": {
			world: subWith + `{conditions: [{type: BundleUnpacking, status: "True", reason: UnpackingInProgress}]}` + sourceYAML + `
---
apiVersion: batch/v1
kind: Job
metadata: {name: abc, namespace: ns, uid: job-1, labels: {operatorframework.io/bundle-unpack-ref: abc}}
---
apiVersion: v1
kind: Pod
metadata: {name: abc-x, namespace: ns, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: abc, uid: job-1}]}
status: {phase: Pending, initContainerStatuses: [{name: pull, image: "r.example.com/b:1", state: {waiting: {reason: ErrImagePull, message: not found}}}]}`,
			want: "Pod ns/abc-x: the image r.example.com/b:1 of container pull cannot be pulled, and so the bundle cannot be unpacked", hint: "mysdk image push"},
		"unpacking failed": {
			world: subWith + `{conditions: [{type: BundleUnpackFailed, status: "True", reason: BundleUnpackFailed, message: deadline exceeded}]}` + sourceYAML + `
---
apiVersion: batch/v1
kind: Job
metadata: {name: abc, namespace: ns, uid: job-1, labels: {operatorframework.io/bundle-unpack-ref: abc}}
status: {conditions: [{type: Failed, status: "True", reason: DeadlineExceeded, message: Job was active longer than specified deadline}]}`,
			want: "Job ns/abc: the bundle could not be unpacked: Job was active longer than specified deadline", hint: "mysdk kubectl delete job -n ns abc"},
		"plan failed": {
			world: subWith + `{installPlanRef: {name: install-1}}` + sourceYAML + `
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-1, namespace: ns}
status: {phase: Failed, conditions: [{type: Installed, status: "False", reason: InstallComponentFailed, message: "error validating existing CRs against new CRD's schema"}]}`,
			want: "InstallPlan ns/install-1: it failed: error validating existing CRs against new CRD's schema", hint: "keep the schema compatible"},
		"CRD refused": {
			world: subWith + `{currentCSV: shop.v1, installPlanRef: {name: install-1}}` + sourceYAML + `
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-1, namespace: ns}
status: {phase: Installing, message: "retrying execution due to error: CustomResourceDefinition.apiextensions.k8s.io \"carts.shop.example.com\" is invalid: spec.validation.openAPIV3Schema.properties[size].pattern: Invalid value: \"(\": must be a valid regular expression"}` +
				csvYAML + `{phase: Pending, reason: RequirementsNotMet, message: none, requirementStatus: [{kind: CustomResourceDefinition, name: carts.shop.example.com, status: NotPresent, message: CRD is not present}]}`,
			want: `InstallPlan ns/install-1: the API server refuses CustomResourceDefinition carts.shop.example.com: spec.validation.openAPIV3Schema.properties[size].pattern: Invalid value: "(": must be a valid regular expression`, hint: "mysdk bundle validate",
		},
		"step tried again": {
			world: subWith + `{installPlanRef: {name: install-1}}` + sourceYAML + `
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-1, namespace: ns}
status: {phase: Installing, message: "retrying execution due to error: the server is currently unable to handle the request"}`,
			want: "InstallPlan ns/install-1: the server is currently unable to handle the request", after: "waits",
		},
		"conversion webhook not there yet": {
			world: subWith + `{installPlanRef: {name: install-1}}` + sourceYAML + `
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-1, namespace: ns}
status: {phase: Installing, message: "retrying execution due to error: error validating existing CRs against new CRD's schema for \"carts.shop.example.com\": conversion webhook for shop.example.com/v1alpha1, Kind=Cart failed: services \"webhook-service\" not found"}`,
			want: `InstallPlan ns/install-1: error validating existing CRs against new CRD's schema for "carts.shop.example.com": conversion webhook for shop.example.com/v1alpha1, Kind=Cart failed: services "webhook-service" not found`, hint: "the conversion webhook", after: "waits",
		},
		"plan waits for approval": {
			world: subWith + `{installPlanRef: {name: install-1}}` + sourceYAML + `
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-1, namespace: ns}
status: {phase: RequiresApproval}`,
			want: "InstallPlan ns/install-1: waits for approval, as a Subscription in the namespace has installPlanApproval: Manual", hint: `"approved":true`, after: "waits"},
		"wrong install mode": {
			world: subWith + `{currentCSV: shop.v1}` + sourceYAML + groupYAML + csvYAML + `{phase: Failed, reason: UnsupportedOperatorGroup, message: OwnNamespace InstallModeType not supported}`,
			want:  "ClusterServiceVersion ns/shop.v1: OperatorGroup ns/mysdk-operators is for namespace ns (install mode OwnNamespace), and the operator supports only: AllNamespaces", hint: "type OwnNamespace to supported: true"},
		"API of another operator": {
			world: subWith + `{currentCSV: shop.v1}` + sourceYAML + groupYAML + csvYAML + `{phase: Failed, reason: InterOperatorGroupOwnerConflict, message: intersecting operatorgroups provide the same apis}` +
				strings.NewReplacer("shop.v1, namespace: ns", "store.v3, namespace: elsewhere", "csv-1", "csv-9").Replace(csvYAML) + succeeded +
				strings.NewReplacer("namespace: ns", "namespace: elsewhere", "[ns]", "[]").Replace(groupYAML),
			want: "ClusterServiceVersion ns/shop.v1: carts.shop.example.com is already provided by ClusterServiceVersion elsewhere/store.v3, which watches all namespaces, and in one namespace an API can have only one operator",
			hint: "the other's package: store"},
		"no group": {
			world: csvYAML + `{phase: Failed, reason: NoOperatorGroup, message: csv in namespace with no operatorgroups}`,
			want:  "ClusterServiceVersion ns/shop.v1: namespace ns has no OperatorGroup, which says what its operators watch", hint: "mysdk run bundle"},
		"requirements": {
			world: csvYAML + `{phase: Pending, reason: RequirementsNotMet, message: one or more requirements couldn't be found, requirementStatus: [{kind: CustomResourceDefinition, name: carts.shop.example.com, status: NotPresent, message: CRD is not present}, {kind: ServiceAccount, name: shop, status: PresentNotSatisfied, message: Policy rule not satisfied for service account, dependents: [{status: NotSatisfied, message: "namespaced rule:{}"}, {status: Satisfied}]}]}`,
			want:  "ClusterServiceVersion ns/shop.v1: requirements are missing: CustomResourceDefinition carts.shop.example.com: CRD is not present; ServiceAccount shop: Policy rule not satisfied for service account (namespaced rule:{})"},
		"requirements that the plan has yet to make": {
			world: subWith + `{currentCSV: shop.v1, installPlanRef: {name: install-1}}` + sourceYAML + csvYAML + `{phase: Pending, reason: RequirementsNotMet, requirementStatus: [{kind: CustomResourceDefinition, name: carts.shop.example.com, status: PresentNotSatisfied, message: "CRD installed alongside other CSV(s): shop.v0"}]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-1, namespace: ns}
status: {phase: Installing, plan: [{resource: {kind: ClusterServiceVersion, name: shop.v1}, status: Created}, {resource: {kind: CustomResourceDefinition, name: carts.shop.example.com}, status: Unknown}]}`,
			want: "InstallPlan ns/install-1: not made yet: CustomResourceDefinition carts.shop.example.com", after: "waits",
		},
		"quota": {
			world: csvYAML + installing + deploymentYAML + "status: {conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: 'pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"'}]}\n",
			want:  `ReplicaSet ns/shop-manager-abc: no pod can be made: pods "x" is forbidden: violates PodSecurity "restricted:latest"`, hint: "securityContext"},
		"image missing": {
			world: csvYAML + installing + deploymentYAML + podYAML + `{phase: Pending, containerStatuses: [{name: manager, image: "shop:v1", state: {waiting: {reason: ErrImagePull, message: "build it with 'mysdk image build --image shop:v1'"}}}]}`,
			want:  "Pod ns/shop-manager-abc-1: the image shop:v1 of container manager cannot be pulled", hint: "mysdk image build --image shop:v1"},
		"no node": {
			world: csvYAML + installing + deploymentYAML + podYAML + `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available: 1 Insufficient cpu."}]}`,
			want:  "Pod ns/shop-manager-abc-1: it cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu."},
		"operator crashes": {
			world: csvYAML + installing + deploymentYAML + podYAML + `{phase: Running, containerStatuses: [{name: manager, image: "shop:v1", restartCount: 1, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {exitCode: 2}}}]}`,
			log:   "starting\npanic: no cart\n",
			want:  "Pod ns/shop-manager-abc-1: container manager ends with exit code 2 again and again: panic: no cart", hint: "--previous"},
		"operator crashes before it is replaced": { // its pods run what the next version brings
			world: subWith + `{currentCSV: shop.v2, installedCSV: shop.v2}` + sourceYAML + csvYAML + installing + deploymentYAML +
				podYAML + `{phase: Running, containerStatuses: [{name: manager, image: "shop:v1", restartCount: 1, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {exitCode: 3}}}]}` +
				strings.NewReplacer("shop.v1", "shop.v2", "csv-1", "csv-2", "spec:", "spec:\n  replaces: shop.v1").Replace(csvYAML) +
				`{phase: Pending, reason: RequirementsNotMet, requirementStatus: [{kind: ServiceAccount, name: shop, status: PresentNotSatisfied, message: Service account is owned by another ClusterServiceVersion}]}`,
			want: "Pod ns/shop-manager-abc-1: container manager ends with exit code 3 again and again", hint: "--previous"},
		"operator crashes in production": {
			world: csvYAML + installing + deploymentYAML + podYAML + `{phase: Running, containerStatuses: [{name: manager, image: "shop:v1", restartCount: 1, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {exitCode: 1}}}]}`,
			log:   `{"level":"error","ts":1.5,"logger":"setup","msg":"problem running manager","error":"open /certs/tls.crt: no such file","stacktrace":"main.main\n\t/src/cmd/main.go:9"}` + "\n",
			want:  "Pod ns/shop-manager-abc-1: container manager ends with exit code 1 again and again: problem running manager: open /certs/tls.crt: no such file", hint: "--previous"},
		"operator is killed by its probe": {
			world: csvYAML + installing + deploymentYAML + podYAML + `{phase: Running, containerStatuses: [{name: manager, image: "shop:v1", restartCount: 2, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {exitCode: 143}}}]}
---
apiVersion: v1
kind: Event
metadata: {name: e1, namespace: ns}
involvedObject: {kind: Pod, name: shop-manager-abc-1, namespace: ns}
type: Warning
reason: Unhealthy
message: "Startup probe failed: dial tcp 127.0.0.1:9443: connect: connection refused"
lastTimestamp: "2026-01-01T00:00:00Z"
---
apiVersion: v1
kind: Event
metadata: {name: e2, namespace: ns}
involvedObject: {kind: Pod, name: shop-manager-abc-1, namespace: ns}
type: Warning
reason: BackOff
message: restarting failed container
lastTimestamp: "2026-01-02T00:00:00Z"`,
			log:  "starting\n",
			want: "Pod ns/shop-manager-abc-1: container manager is killed again and again: Startup probe failed: dial tcp 127.0.0.1:9443: connect: connection refused", hint: "--previous",
		},
		"operator not ready yet": {
			world: csvYAML + installing + deploymentYAML + podYAML + `{phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady}], containerStatuses: [{name: manager, image: "shop:v1", state: {running: {}}}]}`,
			log:   "starting\n",
			want:  "Pod ns/shop-manager-abc-1: it is not ready", after: "waits"},
		"a right is missing": {
			world: csvYAML + succeeded + readyYAML + podYAML + `{phase: Running, conditions: [{type: Ready, status: "True"}]}`,
			log:   `E1 reflector.go:1] "Failed to watch" err="carts.shop.example.com is forbidden: User \"system:serviceaccount:ns:shop\" cannot list resource \"carts\" in API group \"shop.example.com\" at the cluster scope"` + "\n",
			want:  "Pod ns/shop-manager-abc-1: the operator may not list carts.shop.example.com: its service account shop has no permission for it", hint: "//+kubebuilder:rbac:groups=shop.example.com,resources=carts,verbs=list"},
		"a right was missing": {
			world: csvYAML + succeeded + readyYAML + podYAML + `{phase: Running, conditions: [{type: Ready, status: "True"}]}`,
			log:   `pods is forbidden: User "system:serviceaccount:ns:shop" cannot list resource "pods" in API group "" in the namespace "ns"`,
		},
		"a right is missing, and not missed yet": {
			world: csvYAML + succeeded + readyYAML + accountPodYAML, log: `INFO	Starting workers	{"controller": "cart", "controllerGroup": "shop.example.com", "controllerKind": "Cart", "worker count": 1}` + "\n",
			want: "Pod ns/shop-manager-abc-1: the operator may not list carts.shop.example.com in namespace ns: its service account shop has no permission for it", hint: "//+kubebuilder:rbac:groups=shop.example.com,resources=carts,verbs=list",
		},
		"a controller for what others own": {
			world: csvYAML + succeeded + readyYAML + accountPodYAML, log: `"Starting workers" controller="job" controllerGroup="batch" controllerKind="Job"` + "\n",
		},
		"healthy, and no way on": {
			world: subWith + `{currentCSV: shop.v1, installedCSV: shop.v1, conditions: [{type: ResolutionFailed, status: "True", reason: ConstraintsNotSatisfiable, message: "no operators found in channel alpha of package shop"}]}` + sourceYAML + csvYAML + succeeded + readyYAML,
			want:  `Subscription ns/shop: OLM finds no way to install it: the catalog has no channel "alpha" for package shop`,
		},
		"healthy": {world: subWith + `{currentCSV: shop.v1, installedCSV: shop.v1}` + sourceYAML + csvYAML + succeeded + readyYAML},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, tc.world)
			w.allowed["list pods in namespace ns"] = true
			if tc.log != "" {
				w.logs["shop-manager-abc-1"] = tc.log
			}
			pkg, csv := "shop", ""
			if !strings.Contains(tc.world, "kind: Subscription") && strings.Contains(tc.world, "kind: ClusterServiceVersion") {
				pkg, csv = "", "shop.v1"
			}
			f, err := diagnoseOnce(t.Context(), w, "ns", pkg, csv)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" {
				if f != nil {
					t.Fatalf("found %s", f)
				}
				return
			}
			if f == nil {
				t.Fatal("found nothing")
			}
			if diff := cmp.Diff(tc.want, f.String()); diff != "" {
				t.Errorf("finding (-want +got):\n%s", diff)
			}
			if !strings.Contains(f.Hint, tc.hint) {
				t.Errorf("hint %q has no %q", f.Hint, tc.hint)
			}
			if got := f.after == waitOnly; got != (tc.after == "waits") {
				t.Errorf("waits: %v", got)
			}
		})
	}
}

// TestFindingDetails has the condition, the newest warning and the log.
func TestFindingDetails(t *testing.T) {
	w := worldOf(t, csvYAML+installing+deploymentYAML+podYAML+`{phase: Running, containerStatuses: [{name: manager, image: "shop:v1", restartCount: 3, state: {waiting: {reason: CrashLoopBackOff, message: back-off 10s}}, lastState: {terminated: {exitCode: 1}}}]}
---
apiVersion: v1
kind: Event
metadata: {name: e1, namespace: ns}
involvedObject: {kind: Pod, name: shop-manager-abc-1, namespace: ns}
type: Warning
reason: Old
message: an old one
lastTimestamp: "2026-01-01T00:00:00Z"
---
apiVersion: v1
kind: Event
metadata: {name: e2, namespace: ns}
involvedObject: {kind: Pod, name: shop-manager-abc-1, namespace: ns}
type: Warning
reason: BackOff
message: "restarting\n failed container"
lastTimestamp: "2026-01-02T00:00:00Z"
---
apiVersion: v1
kind: Event
metadata: {name: e3, namespace: ns}
involvedObject: {kind: Pod, name: another, namespace: ns}
type: Warning
reason: Other
message: of another pod
lastTimestamp: "2026-01-03T00:00:00Z"
`)
	w.logs["shop-manager-abc-1 before"] = "one\ntwo\n"
	f, err := diagnoseOnce(t.Context(), w, "ns", "", "shop.v1")
	if err != nil || f == nil {
		t.Fatalf("%v, %v", f, err)
	}
	want := []string{
		"condition: container manager waiting (CrashLoopBackOff): back-off 10s",
		"event: BackOff: restarting failed container", "log: one", "log: two",
	}
	if diff := cmp.Diff(want, f.Details()); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

// TestOperators looks at operators with and without a Subscription, and not at
// copies of CSVs.
func TestOperators(t *testing.T) {
	broken := `{phase: Failed, reason: NoOperatorGroup, message: none}`
	w := worldOf(t, subYAML+csvYAML+broken+strings.ReplaceAll(csvYAML, "shop.v1", "hand.v1")+broken+
		strings.NewReplacer("name: shop.v1, namespace: ns", "name: copy.v1, namespace: ns, labels: {olm.copiedFrom: far}").Replace(csvYAML)+broken)
	if _, err := Operators(t.Context(), w, "", ""); err == nil || !strings.Contains(clierr.HintOf(err), "mysdk olm install") {
		t.Errorf("without OLM: %v", err)
	}
	w.objects = append(w.objects, crdObject("clusterserviceversions.operators.coreos.com"))
	for pkg, want := range map[string][]string{
		"":      {"ns shop - CatalogSource ns/shop-catalog", "ns - Failed ClusterServiceVersion ns/shop.v1", "ns - Failed ClusterServiceVersion ns/hand.v1"},
		"shop":  {"ns shop - CatalogSource ns/shop-catalog"},
		"other": nil,
	} {
		found, err := Operators(t.Context(), w, "", pkg)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range found {
			got = append(got, fmt.Sprintf("%s %s %s %s", o.Namespace, orDash(o.Package), orDash(o.Phase), o.Finding.Object))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// TestFindingJSON names the object.
func TestFindingJSON(t *testing.T) {
	data, err := json.Marshal(&Finding{Object: kube.RefOf(kube.Named("v1", "Pod", "ns", "x")), Problem: "gone", Hint: "look"})
	if want := `{"object":"Pod ns/x","problem":"gone","hint":"look"}`; err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
}

// TestLeaderLeases finds the lease in the log, once, and leaves those of other
// namespaces alone.
func TestLeaderLeases(t *testing.T) {
	for name, line := range map[string]string{
		"klog":     `I1 leaderelection.go:258] "Attempting to acquire leader lease..." lock=%q`,
		"zap":      `2026-11-23T16:00:00Z	INFO	leaderelection	Attempting to acquire leader lease...	{"lock": %q}`,
		"zap JSON": `{"level":"info","logger":"leaderelection","msg":"Attempting to acquire leader lease...","lock":%q}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, csvYAML+succeeded+readyYAML+podYAML+"{phase: Running}\n")
			for _, lock := range []string{"ns/81e1f50.example.com", "ns/81e1f50.example.com", "elsewhere/other"} {
				w.logs["shop-manager-abc-1"] += fmt.Sprintf(line, lock) + "\n"
			}
			w.logs["shop-manager-abc-1"] += strings.Repeat("\n", logStart) + fmt.Sprintf(line, "ns/late") // is not read
			leases, err := leaderLeases(t.Context(), w, "ns", "shop.v1", "missing.v1")
			if err != nil || len(leases) != 1 || leases[0].GetName() != "81e1f50.example.com" {
				t.Errorf("%v, %v", leases, err)
			}
		})
	}
}

// diagnoseOnce looks once at everything between a Subscription, or a CSV, and
// its running operator.
func diagnoseOnce(ctx context.Context, r Reader, namespace, pkg, csv string) (*Finding, error) {
	c, err := look(ctx, r, namespace, pkg, csv)
	if err != nil {
		return nil, err
	}
	return c.diagnose(ctx, r)
}

// TestNewestRevision looks at the pods of the newest revision first.
func TestNewestRevision(t *testing.T) {
	set := func(revision string) string {
		return "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: shop-manager-" + revision + ", namespace: ns, uid: rs-" + revision + ", annotations: {deployment.kubernetes.io/revision: '" + revision +
			"'}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: shop-manager, uid: dep-1}]}\n" +
			"spec: {replicas: 1}\nstatus: {conditions: [{type: ReplicaFailure, status: 'True', message: exceeded quota}]}\n"
	}
	w := worldOf(t, deploymentYAML+set("9")+set("10")+set("2"))
	c, err := look(t.Context(), w, "ns", "", "shop.v1")
	if err != nil {
		t.Fatal(err)
	}
	if f := c.checkDeployment(t.Context(), w, c.deployments[0]); f == nil || f.Object.Name != "shop-manager-10" {
		t.Errorf("found %v", f)
	}
}
