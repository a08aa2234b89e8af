/*
Copyright 2026.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package certs

import (
	"bytes"
	"encoding/base64"
	"testing"
	"time"
)

var (
	start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	names = []string{"service.namespace.svc", "service.namespace.svc.cluster.local"}
)

// Over years, a server with the newest certificate is trusted by whoever has
// the CAs of now, and by whoever still has those of ten minutes ago.
func TestRenew_NeverMeetsDistrust(t *testing.T) {
	const step = 8 * time.Minute
	var b bundle
	before, renewed := bundle{}, 0
	for now := start; now.Before(start.Add(2 * caLife)); {
		next, changed, err := b.renew(now, names)
		if err != nil {
			t.Fatal(err)
		}
		for what, trusted := range map[string][]byte{"now": next.trusted, "before": before.trusted} {
			if len(trusted) == 0 {
				continue // nobody trusts anything before the first time
			}
			if err := next.serving.verify(parseCerts(trusted), now, names); err != nil {
				t.Fatalf("%s: not trusted with the CAs of %s: %v", now, what, err)
			}
		}
		before, b = next, next
		if changed {
			renewed++
			now = now.Add(step) // look closely where something changes
			continue
		}
		now = now.Add(nextLook(now, b))
	}
	if renewed < 10 {
		t.Errorf("renewed %d times only", renewed)
	}
}

// nextLook skips the time in which nothing can happen.
func nextLook(now time.Time, b bundle) time.Duration {
	const step = 8 * time.Minute
	ca := parseCerts(b.trusted)[0]
	if now.Before(ca.NotBefore.Add(skew + 2*settle)) {
		return step
	}
	return 12 * time.Hour
}

func TestRenew_ChangesNothingWithoutNeed(t *testing.T) {
	first, changed, err := bundle{}.renew(start, names)
	if err != nil || !changed {
		t.Fatalf("changed: %t, %v", changed, err)
	}
	if _, changed, err := first.renew(start.Add(time.Hour), names); err != nil || changed {
		t.Errorf("an hour later, changed: %t, %v", changed, err)
	}
}

func TestRenew_RepairsTheSecret(t *testing.T) {
	good, _, err := bundle{}.renew(start, names)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := bundle{}.renew(start, names)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(*bundle){
		"no CA":             func(b *bundle) { b.trusted = nil },
		"broken CA":         func(b *bundle) { b.trusted = []byte("text") },
		"no key":            func(b *bundle) { b.caKeyPEM = nil },
		"another CA's key":  func(b *bundle) { b.caKeyPEM = other.caKeyPEM },
		"no certificate":    func(b *bundle) { b.serving = pair{} },
		"another's serving": func(b *bundle) { b.serving = other.serving },
		"another's key":     func(b *bundle) { b.serving.keyPEM = other.serving.keyPEM },
	} {
		t.Run(name, func(t *testing.T) {
			b := good
			damage(&b)
			repaired, changed, err := b.renew(start, names)
			if err != nil || !changed {
				t.Fatalf("changed: %t, %v", changed, err)
			}
			if err := repaired.serving.verify(parseCerts(repaired.trusted), start, names); err != nil {
				t.Error(err)
			}
		})
	}
	renamed, changed, err := good.renew(start.Add(settle), []string{"other.namespace.svc"})
	if err != nil || !changed || !bytes.Equal(renamed.trusted, good.trusted) {
		t.Errorf("with another name: changed %t, %v", changed, err)
	}
}

func TestSetCA(t *testing.T) {
	const namespace = "here"
	clientConfig := func(service, namespace string) map[string]any {
		return map[string]any{"service": map[string]any{"name": service, "namespace": namespace}}
	}
	ours, others, elsewhere := clientConfig(serviceName, namespace), clientConfig("other", namespace), clientConfig(serviceName, "there")
	byURL := map[string]any{"url": "https://localhost:9443/convert"}
	hooks := map[string]any{"webhooks": []any{
		map[string]any{"clientConfig": ours}, map[string]any{"clientConfig": others},
		map[string]any{"clientConfig": elsewhere}, map[string]any{"clientConfig": byURL},
	}}
	converting := clientConfig(serviceName, namespace)
	crd := map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": converting}}}}

	want := base64.StdEncoding.EncodeToString([]byte("CA"))
	for name, object := range map[string]map[string]any{"webhooks": hooks, "CRD": crd} {
		if !setCA(object, namespace, []byte("CA")) {
			t.Errorf("%s: nothing changed", name)
		}
		if setCA(object, namespace, []byte("CA")) {
			t.Errorf("%s: changed twice", name)
		}
	}
	if ours["caBundle"] != want || converting["caBundle"] != want {
		t.Errorf("the CA is %v and %v, want %s", ours["caBundle"], converting["caBundle"], want)
	}
	for _, c := range []map[string]any{others, elsewhere, byURL} {
		if c["caBundle"] != nil {
			t.Errorf("%v is not ours and got a CA", c)
		}
	}
	if setCA(map[string]any{"spec": map[string]any{}}, namespace, nil) {
		t.Error("a CRD without conversion changed")
	}
}
