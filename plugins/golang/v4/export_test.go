package v4

import (
	"testing"
	"text/template"
)

// Data is the dot of the templates, for the tests that render them by themselves.
type Data = data

// Functions are what the templates may call.
func Functions() template.FuncMap { return (&file{}).GetFuncMap() }

// WithWebhooks are the files of a project whose kind has webhooks by cert-manager.
func WithWebhooks(t testing.TB) map[string]string {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	p.mustCreateWebhook(t, "--group=cache", "--kind=Memcached", "--defaulting", "--programmatic-validation", "--certs=cert-manager")
	return p.files(t)
}
