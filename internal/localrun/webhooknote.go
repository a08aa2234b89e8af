package localrun

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/recording"
)

// noteTimeout bounds the report of one call.
const noteTimeout = 2 * time.Second

// noteWebhook is told of a call once it is answered.
type noteWebhook func(ctx context.Context, path string, began time.Time, took time.Duration, request, answer []byte, code int)

// noting reports what next was asked and has answered, with times of clock. The API
// server has the answer before that. A nil note wants to know of nothing.
func noting(clock func() time.Time, note noteWebhook, next http.Handler) http.Handler {
	if note == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := clock()
		request, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "read the review: "+err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(request))
		copied := &copied{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(copied, r)
		took := clock().Sub(began)
		// Without it, the answer waits for this function's end.
		_ = http.NewResponseController(w).Flush()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), noteTimeout)
		defer cancel()
		note(ctx, r.URL.Path, began, took, request, copied.body.Bytes(), copied.code)
	})
}

// copied is an answer that is kept, too.
type copied struct {
	http.ResponseWriter
	body bytes.Buffer
	code int
}

// Unwrap is for http.ResponseController.
func (c *copied) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *copied) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (c *copied) Write(p []byte) (int, error) {
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}

// noteWebhook reports a call to the control plane. What is no review, and a
// cluster that has gone, is nothing to stop for.
func (r *run) noteWebhook(ctx context.Context, path string, began time.Time, took time.Duration, request, answer []byte, code int) {
	call, err := recording.ReadWebhook(path, request, answer, code, r.salt)
	if err != nil {
		return
	}
	call.Time, call.Took, call.Webhook = began, took, webhookName(r.wanted().Webhooks, path)
	if call.Operation == "CONVERT" {
		call.Webhook = "conversion of " + call.Kind
	}
	_ = r.control.Webhook(ctx, r.Dir, call)
}

// webhookName is the name of the webhook that calls a path, empty where none does.
func webhookName(configs []*unstructured.Unstructured, path string) string {
	for _, config := range configs {
		list, _, _ := unstructured.NestedSlice(config.Object, "webhooks")
		for _, item := range list {
			hook, _ := item.(map[string]any)
			at, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
			name, _, _ := unstructured.NestedString(hook, "name")
			if strings.TrimPrefix(at, "/") == strings.TrimPrefix(path, "/") {
				return cmp.Or(name, config.GetName())
			}
		}
	}
	return ""
}
