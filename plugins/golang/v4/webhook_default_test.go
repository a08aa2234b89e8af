package v4

import (
	"strings"
	"testing"
)

// Lists of kustomizations may be indented.
func TestWebhookInIndentedLists(t *testing.T) {
	indented := func(text string) string {
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, "- ") || i > 0 && strings.HasPrefix(lines[i-1], "  - ") && strings.HasPrefix(l, "  ") {
				lines[i] = "  " + l
			}
		}
		return strings.Join(lines, "\n")
	}
	for _, certs := range []string{certsSelf, certsCertManager} {
		p := withAPI(t, 2)
		p.write(t, defaultPath, indented(p.files(t)[defaultPath]))
		p.write(t, crdPath, indented(strings.Replace(p.files(t)[crdPath], "patches:\n", "patches:\n- path: mine.yaml\n", 1)))
		p.mustCreateWebhook(t, strings.Fields(memcachedV1+" --defaulting --conversion --certs="+certs)...)
		p.checkFiles(t)
		files := p.files(t)
		for name, part := range map[string]string{defaultPath: "\n  - path: manager_webhook_patch.yaml\n    target:\n      kind: Deployment\n", crdPath: "\n  - path: patches/webhook_in_"} {
			if !strings.Contains(files[name], part) {
				t.Errorf("%s lacks %q:\n%s", name, part, files[name])
			}
		}
	}
	p := withAPI(t, 1)
	p.write(t, defaultPath, strings.Replace(p.files(t)[defaultPath], "#replacements:", "replacements:\n- targets: []", 1))
	_, err := p.createWebhook(t, strings.Fields(memcached+" --defaulting --certs=cert-manager")...)
	refused(t, err, "its lists are not as 'mysdk init' writes them")
}

// Names and the namespace are those that config/default deploys with.
func TestWebhookNamesAreThoseDeployed(t *testing.T) {
	for name, test := range map[string]struct{ lines, prefix, namespace string }{
		"others": {"namespace: store\nnamePrefix: acme-\n", "acme-", "store"},
		"none":   {"", "", "system"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProject(t, "--namespaced")
			p.mustCreateAPI(t, strings.Fields(memcached)...)
			p.write(t, defaultPath, strings.NewReplacer("namespace: shop-system\n", test.lines, "namePrefix: shop-\n", "").Replace(p.files(t)[defaultPath]))
			p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting --programmatic-validation")...)
			p.checkFiles(t)
			files := p.files(t)
			for _, part := range []string{
				`serviceName = "` + test.prefix + `webhook-service"`, "resourceNames=" + test.prefix + "webhook-server-cert,",
				`"MutatingWebhookConfiguration", "` + test.prefix + `mutating-`, "resourceNames=" + test.prefix + "validating-",
				"namespace=shop-system,", // as the other markers, which make one Role
			} {
				if !strings.Contains(files[targetsPath], part) {
					t.Errorf("%s lacks %q:\n%s", targetsPath, part, files[targetsPath])
				}
			}
			if patch := files[NamespacesPatch]; strings.Count(patch, "metadata.name: "+test.namespace+"\n") != 2 {
				t.Errorf("the webhooks' namespace is not %s:\n%s", test.namespace, patch)
			}
		})
	}
}

// A kind of the same name in another group has a file and functions of the same names.
func TestWebhooksOfAKindInTwoGroups(t *testing.T) {
	const core, events = "--group=core --version=v1 --kind=Event", "--group=events --version=v1 --kind=Event --defaulting"
	for _, first := range []string{" --defaulting", " --programmatic-validation"} {
		p := newTestProject(t)
		p.mustCreateWebhook(t, strings.Fields(core+first)...)
		_, err := p.createWebhook(t, strings.Fields(events)...)
		refused(t, err, "internal/webhook/v1/event_webhook.go has the webhooks of another kind Event")
	}
	p := newTestProject(t, "--multigroup")
	p.mustCreateWebhook(t, strings.Fields(core+" --defaulting")...)
	p.mustCreateWebhook(t, strings.Fields(events)...)
}
