package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// workloads are what operators make.
func workloads() map[string]func(*testing.T, *client) {
	return map[string]func(*testing.T, *client){
		"deployment of 3 gets 3 ready":               deploymentBecomesReady,
		"deleted pod comes back":                     deletedPodComesBack,
		"owned object of a new kind is collected":    ownedByNewKind,
		"instance of a new kind owned by another":    newKindOwned,
		"namespace goes with its content":            namespaceGoes,
		"failed deletion of a CRD is retried":        failedDeletionIsRetried,
		"stateful set gets its volumes":              statefulSetComesUp,
		"volume goes with its claim":                 volumeGoes,
		"volume grows with its claim":                volumeGrows,
		"job completes":                              jobCompletes,
		"namespace has a service account and the CA": namespaceIsFurnished,
		"token secret is filled":                     tokenSecretIsFilled,
		"webhook behind a service":                   webhookIsCalled,
		"stored version is migrated":                 storedVersionIsMigrated,
		"certificate is signed":                      certificateIsSigned,
		"attributes class goes":                      attributesClassGoes,
	}
}

func deploymentBecomesReady(t *testing.T, c *client) {
	c.post(deployments, deployment("three", 3))
	d := c.await(deployments+"/three", is("status.readyReplicas", 3.0))
	if d.at("status.availableReplicas") != 3.0 {
		t.Errorf("status = %v", d.at("status"))
	}
	pods := c.get("/api/v1/namespaces/default/pods?labelSelector=app%3Dthree")
	for _, p := range pods["items"].([]any) {
		pod := object(p.(map[string]any))
		if ip, ok := pod.at("status.podIP").(string); !ok || !strings.HasPrefix(ip, "240.2.") || pod.at("spec.nodeName") != "node-1" {
			t.Errorf("pod %v has the address %v on %v", pod.at("metadata.name"), pod.at("status.podIP"), pod.at("spec.nodeName"))
		}
	}
	c.del(deployments + "/three")
	c.await("/api/v1/namespaces/default/pods?labelSelector=app%3Dthree", isEmpty)
}

// isEmpty is a condition on a list.
func isEmpty(o object) bool {
	items, ok := o["items"].([]any)
	return ok && len(items) == 0
}

func deletedPodComesBack(t *testing.T, c *client) {
	c.post(deployments, deployment("healed", 1))
	c.await(deployments+"/healed", is("status.readyReplicas", 1.0))
	list := c.get("/api/v1/namespaces/default/pods?labelSelector=app%3Dhealed")
	pod := object(list["items"].([]any)[0].(map[string]any)).at("metadata.name")
	path := fmt.Sprint("/api/v1/namespaces/default/pods/", pod)
	c.del(path)
	c.await(path, nil)
	c.await("/api/v1/namespaces/default/pods?labelSelector=app%3Dhealed", func(o object) bool {
		items, ok := o["items"].([]any)
		return ok && len(items) == 1 && object(items[0].(map[string]any)).at("status.phase") == "Running"
	})
}

// failedDeletionIsRetried plays what the API server's finalizer of CRDs leaves
// behind where its own retry was lost; see crdController.
func failedDeletionIsRetried(_ *testing.T, c *client) {
	const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	const path = crds + "/failing.example.com"
	crd := newCRD("failing", "Failing")
	crd["metadata"].(object)["finalizers"] = []string{"example.com/hold"}
	c.post(crds, crd)
	c.del(path)
	c.await(path, func(o object) bool { return len(o.at("metadata.finalizers").([]any)) == 1 })
	c.do(http.MethodPatch, path+"/status", object{"status": object{"conditions": []object{{
		"type": "Terminating", "status": "True", "reason": "InstanceDeletionFailed", "message": "could not list instances",
	}}}})
	c.await(path, func(o object) bool { return o.at("metadata.annotations") != nil })
	c.do(http.MethodPatch, path, object{"metadata": object{"finalizers": nil}})
	c.await(path, nil)
}

// installCRD makes a kind of our own and returns the path of its instances.
func installCRD(c *client, plural, kind string) string {
	c.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", newCRD(plural, kind))
	path := "/apis/example.com/v1/namespaces/default/" + plural
	c.await(path, isEmpty)
	return path
}

func newCRD(plural, kind string) object {
	return object{
		"metadata": object{"name": plural + ".example.com"},
		"spec": object{
			"group": "example.com", "scope": "Namespaced",
			"names": object{"plural": plural, "kind": kind},
			"versions": []object{{
				"name": "v1", "served": true, "storage": true,
				"schema": object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}
}

// ownedBy makes o owned by owner.
func ownedBy(owner, o object) object {
	o["metadata"].(object)["ownerReferences"] = []object{{
		"apiVersion": owner["apiVersion"], "kind": owner["kind"],
		"name": owner.at("metadata.name"), "uid": owner.at("metadata.uid"),
	}}
	return o
}

func instance(kind, name string) object {
	return object{"apiVersion": "example.com/v1", "kind": kind, "metadata": object{"name": name}}
}

func ownedByNewKind(_ *testing.T, c *client) {
	path := installCRD(c, "owners", "Owner")
	owner := c.post(path, instance("Owner", "a"))
	c.post(configMaps, ownedBy(owner, configMap("owned")))
	c.post(deployments, ownedBy(owner, deployment("owned", 1)))
	c.await(deployments+"/owned", is("status.readyReplicas", 1.0))
	c.del(path + "/a")
	c.await(configMaps+"/owned", nil)
	c.await(deployments+"/owned", nil)
	c.await("/api/v1/namespaces/default/pods?labelSelector=app%3Downed", isEmpty)
}

func newKindOwned(_ *testing.T, c *client) {
	path := installCRD(c, "things", "Thing")
	owner := c.post(configMaps, configMap("owner"))
	owner["apiVersion"], owner["kind"] = "v1", "ConfigMap"
	c.post(path, ownedBy(owner, instance("Thing", "a")))
	c.del(configMaps + "/owner")
	c.await(path+"/a", nil)
}

func namespaceGoes(_ *testing.T, c *client) {
	c.post("/api/v1/namespaces", object{"metadata": object{"name": "short"}})
	c.await("/api/v1/namespaces/short/serviceaccounts/default", func(object) bool { return true })
	inside := strings.ReplaceAll(deployments, "default", "short")
	c.post(inside, deployment("web", 2))
	c.await(inside+"/web", is("status.readyReplicas", 2.0))
	maps := strings.ReplaceAll(configMaps, "default", "short")
	held := configMap("held")
	held["metadata"] = object{"name": "held", "finalizers": []string{"example.com/hold"}}
	c.post(maps, held)
	c.del("/api/v1/namespaces/short")
	if o, code, err := c.try(http.MethodPost, maps, configMap("late")); code != http.StatusForbidden {
		c.tb.Errorf("made in a namespace that is going: %d %v %v", code, o["message"], err)
	}
	c.await("/api/v1/namespaces/short", func(o object) bool { return o.condition("NamespaceFinalizersRemaining") == "True" })
	c.await(inside+"/web", nil)
	c.do(http.MethodPatch, maps+"/held", object{"metadata": object{"finalizers": nil}})
	c.await("/api/v1/namespaces/short", nil)
}

func statefulSetComesUp(t *testing.T, c *client) {
	labels := object{"app": "db"}
	path := "/apis/apps/v1/namespaces/default/statefulsets"
	c.post(path, object{
		"metadata": object{"name": "db"},
		"spec": object{
			"replicas": 2, "serviceName": "db", "selector": object{"matchLabels": labels}, "template": podTemplate(labels),
			"volumeClaimTemplates": []object{{
				"metadata": object{"name": "data"},
				"spec":     claimSpec(),
			}},
		},
	})
	c.await(path+"/db", is("status.readyReplicas", 2.0))
	for _, name := range []string{"data-db-0", "data-db-1"} {
		claim := c.get("/api/v1/namespaces/default/persistentvolumeclaims/" + name)
		if claim.at("status.phase") != "Bound" || claim.at("spec.storageClassName") != "standard" {
			t.Errorf("claim %s: %v", name, claim.at("status"))
		}
	}
}

func claimSpec() object {
	return object{"accessModes": []string{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "1Gi"}}}
}

func volumeGoes(_ *testing.T, c *client) {
	path := "/api/v1/namespaces/default/persistentvolumeclaims"
	c.post(path, object{"metadata": object{"name": "once"}, "spec": claimSpec()})
	claim := c.await(path+"/once", is("status.phase", "Bound"))
	volume := fmt.Sprint("/api/v1/persistentvolumes/", claim.at("spec.volumeName"))
	c.await(volume, is("status.phase", "Bound"))
	c.del(path + "/once")
	c.await(path+"/once", nil)
	c.await(volume, nil)
}

func volumeGrows(_ *testing.T, c *client) {
	path := "/api/v1/namespaces/default/persistentvolumeclaims"
	c.post(path, object{"metadata": object{"name": "grows"}, "spec": claimSpec()})
	claim := c.await(path+"/grows", is("status.phase", "Bound"))
	c.do(http.MethodPatch, path+"/grows", object{"spec": object{"resources": object{"requests": object{"storage": "3Gi"}}}})
	c.await(path+"/grows", is("status.capacity.storage", "3Gi"))
	c.await(fmt.Sprint("/api/v1/persistentvolumes/", claim.at("spec.volumeName")), is("spec.capacity.storage", "3Gi"))
}

func jobCompletes(_ *testing.T, c *client) {
	template := podTemplate(object{})
	template["spec"].(object)["restartPolicy"] = "Never"
	path := "/apis/batch/v1/namespaces/default/jobs"
	c.post(path, object{
		"metadata": object{"name": "once"},
		"spec":     object{"completions": 2, "parallelism": 2, "template": template},
	})
	c.await(path+"/once", is("status.succeeded", 2.0))
}

func namespaceIsFurnished(t *testing.T, c *client) {
	c.post("/api/v1/namespaces", object{"metadata": object{"name": "furnished"}})
	c.await("/api/v1/namespaces/furnished/serviceaccounts/default", func(object) bool { return true })
	ca := c.await("/api/v1/namespaces/furnished/configmaps/kube-root-ca.crt", func(object) bool { return true })
	if text, ok := ca["data"].(map[string]any)["ca.crt"].(string); !ok || !strings.Contains(text, "BEGIN CERTIFICATE") {
		t.Errorf("ca.crt = %v", ca["data"])
	}
}

func tokenSecretIsFilled(_ *testing.T, c *client) {
	path := "/api/v1/namespaces/default/secrets"
	c.post(path, object{
		"metadata": object{"name": "token", "annotations": object{"kubernetes.io/service-account.name": "default"}},
		"type":     "kubernetes.io/service-account-token",
	})
	c.await(path+"/token", func(o object) bool {
		token, ok := o.at("data.token").(string)
		return ok && token != "" && o.at("data.namespace") == base64.StdEncoding.EncodeToString([]byte("default"))
	})
}

// webhookIsCalled names the webhook by a Service whose annotation says where
// on this machine it listens.
func webhookIsCalled(t *testing.T, c *client) {
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review object
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		err := json.NewEncoder(w).Encode(object{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": object{"uid": review.at("request.uid"), "allowed": false, "status": object{"message": "refused by the test"}},
		})
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(hook.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	c.post("/api/v1/namespaces/default/services", object{
		// The test server's certificate is for example.com.
		"metadata": object{"name": "hook", "annotations": object{"mysdk.dev/address": hook.Listener.Addr().String()}},
		"spec":     object{"ports": []object{{"port": 443}}},
	})
	path := "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	c.post(path, object{
		"metadata": object{"name": "hook"},
		"webhooks": []object{{
			"name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": []string{"v1"},
			"clientConfig": object{
				"service":  object{"namespace": "default", "name": "hook"},
				"caBundle": base64.StdEncoding.EncodeToString(ca),
			},
			"rules": []object{{
				"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{"secrets"},
			}},
			"objectSelector": object{"matchLabels": object{"hooked": "yes"}}, // other tests make Secrets, too
		}},
	})
	defer c.del(path + "/hook")
	// The certificate is not for hook.default.svc: that it was looked at shows
	// where the call went.
	message := c.awaitRefusal(secrets, object{"hooked": "yes"})
	if !strings.Contains(message, "hook.example.com") || !strings.Contains(message, "example.com, not hook.default.svc") {
		t.Error(message)
	}
}

// awaitRefusal makes Secrets with labels until one is refused, which is when the
// API server has seen the configuration of a webhook, and returns why.
func (c *client) awaitRefusal(path string, labels object) string {
	c.tb.Helper()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(pollInterval) {
		o, code, err := c.try(http.MethodPost, path, object{"metadata": object{"generateName": "refused-", "labels": labels}})
		if err != nil {
			c.tb.Fatal(err)
		}
		if code != http.StatusCreated {
			return fmt.Sprint(code, " ", o["message"])
		}
	}
	c.tb.Fatal("the webhook was never called")
	return ""
}

func storedVersionIsMigrated(_ *testing.T, c *client) {
	installCRD(c, "kept", "Kept")
	c.post("/apis/example.com/v1/namespaces/default/kept", instance("Kept", "a"))
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/kept.example.com"
	crd := c.get(path)
	versions := crd.at("spec.versions").([]any)
	second := maps.Clone(versions[0].(map[string]any))
	versions[0].(map[string]any)["storage"], second["name"] = false, "v2"
	crd["spec"].(map[string]any)["versions"] = append(versions, second)
	c.do(http.MethodPut, path, crd)
	const migrations = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
	c.post(migrations, object{"metadata": object{"name": "kept"}, "spec": object{"resource": object{"group": "example.com", "resource": "kept"}}})
	c.await(path, func(o object) bool { return fmt.Sprint(o.at("status.storedVersions")) == "[v2]" })
}

func certificateIsSigned(t *testing.T, c *client) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "me"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	csr := c.post(path, object{"metadata": object{"name": "me"}, "spec": object{
		"request":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
		"signerName": "kubernetes.io/kube-apiserver-client", "usages": []string{"client auth"},
	}})
	csr["status"] = object{"conditions": []object{{"type": "Approved", "status": "True", "reason": "Test"}}}
	c.do(http.MethodPut, path+"/me/approval", csr)
	c.await(path+"/me", func(o object) bool { return o.at("status.certificate") != nil })
}

func attributesClassGoes(_ *testing.T, c *client) {
	const path = "/apis/storage.k8s.io/v1/volumeattributesclasses"
	c.post(path, object{"metadata": object{"name": "gold"}, "driverName": "example.com", "parameters": object{"a": "b"}})
	c.del(path + "/gold")
	c.await(path+"/gold", nil)
}
