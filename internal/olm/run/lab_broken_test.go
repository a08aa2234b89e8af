package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// edited is a bundle with a text of its CSV replaced.
func edited(t *testing.T, b *bundle.Bundle, from, to string) *bundle.Bundle {
	t.Helper()
	files, found := fstest.MapFS{}, false
	for _, f := range b.Files {
		text := string(f.Data)
		if f.Name == b.CSVFile {
			found = strings.Contains(text, from)
			text = strings.ReplaceAll(text, from, to)
		}
		files[f.Name] = &fstest.MapFile{Data: []byte(text)}
	}
	if !found {
		t.Fatalf("the CSV has no %q", from)
	}
	changed, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// TestFailuresAreToldEarly installs operators that cannot come up: what does not
// heal ends the run, and what may is told while it goes on.
func TestFailuresAreToldEarly(t *testing.T) {
	l := newLab(t)
	l.installOLM()
	const template, labels = "{serviceAccountName: shop, containers: [{name: manager, ", "metadata: {labels: {app: shop}}"
	for name, tc := range map[string]struct {
		from, to string
		err      string // that it ends with
		said     string // while it waits
	}{
		"bad name":       {from: "{name: shop.v0.0.1}", to: "{name: Shop_v0.0.1}", err: "ClusterServiceVersion Shop_v0.0.1: metadata.name: a lowercase RFC 1123 subdomain"},
		"wrong selector": {from: labels, to: "metadata: {labels: {app: other}}", err: `Deployment shop-manager: spec.selector "app=shop" does not match the labels "app=other" of spec.template`},
		"no ConfigMap for a volume": {
			from: template, to: strings.Replace(template, "{", "{volumes: [{name: conf, configMap: {name: none}}], ", 1), err: "a volume needs configmap none, which does not exist",
		},
		"no ConfigMap for a variable": {
			from: template, to: template + "envFrom: [{configMapRef: {name: none}}], ", err: `container manager cannot be started: configmaps "none" not found`,
		},
		"never ready": {
			from: labels, to: "metadata: {labels: {app: shop}, annotations: {mysdk.dev/simulate: not-ready}}",
			said: "it is not ready\n  condition: Ready=False (ContainersNotReady): ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			told := false
			o := l.options(func(o *Options) {
				o.Say = func(format string, args ...any) {
					if text := fmt.Sprintf(format, args...); tc.said != "" && strings.HasPrefix(text, "Warning: still waiting: ") && strings.Contains(text, tc.said) {
						told = true
						cancel() // it would go on until the time is up
					}
				}
			})
			_, err := Install(ctx, l.client, edited(t, labBundle(t, "0.0.1", ""), tc.from, tc.to), o)
			var failure *Failure
			switch {
			case tc.said != "" && (!told || !errors.Is(err, context.Canceled)):
				t.Errorf("warned %v, %v", told, err)
			case tc.said == "" && (err == nil || !strings.Contains(err.Error(), tc.err) || clierr.HintOf(err) == "" || errors.As(err, &failure) && failure.TimedOut):
				t.Errorf("error %v, hint %q", err, clierr.HintOf(err))
			}
			clean := CleanupOptions{Namespace: "shop", CRDs: true, Timeout: 3 * time.Minute, Say: func(string, ...any) {}, Progress: func(kube.Result) {}}
			if _, err := Cleanup(t.Context(), l.client, "shop", clean); err != nil && !strings.Contains(err.Error(), "is not installed") {
				t.Fatal(err)
			}
		})
	}
}
