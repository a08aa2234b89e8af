package otlp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/example/mysdk/internal/recording"
)

// TestWrite: what is written can be decoded, spans nest, and what one call wrote
// is linked to the call that it led to.
func TestWrite(t *testing.T) {
	const line = "internal/controller/shop.go:9"
	at := time.Unix(1_800_000_000, 0).UTC()
	call := func(id string, begin time.Duration) recording.Reconcile {
		return recording.Reconcile{ID: id, Controller: "ShopReconciler", Object: recording.Object{Kind: "Shop", Namespace: "default", Name: "s"}, Begin: at.Add(begin), End: at.Add(begin + time.Second), Process: "1"}
	}
	again, failed := call("a", 0), call("b", 2*time.Second)
	again.After, failed.Error = -time.Second, "no"
	write := recording.Request{
		Seq: 2, Time: at.Add(time.Second), Took: time.Millisecond, User: "system:serviceaccount:default:shop", Verb: "patch", Group: "apps", Version: "v1", Resource: "deployments",
		Namespace: "default", Name: "s", Kind: "Deployment", Code: 200, Reconcile: "a", Frames: []string{line}, Revision: "3",
		Owners:  []recording.Owner{{Kind: "Shop", Name: "s"}},
		Changes: []recording.Change{{Path: "spec.replicas", Old: 1, New: 2}},
	}
	refused := write
	refused.Seq, refused.Code, refused.Message, refused.Changes = 3, 409, "conflict", nil
	r := recording.Recording{
		Operator: write.User, Since: at, Reconciles: []recording.Reconcile{again, failed},
		Requests: []recording.Request{{Seq: 1, Verb: "watch", Group: "apps", Resource: "deployments", User: write.User, Code: 200}, write, refused},
	}
	var out bytes.Buffer
	if err := Write(&out, r, r.WhyAll()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	var traces []*trace.TracesData
	for _, l := range lines {
		var data trace.TracesData
		if err := protojson.Unmarshal([]byte(l), &data); err != nil {
			t.Fatal(err)
		}
		traces = append(traces, &data)
	}
	first, second := traces[0].ResourceSpans[0].ScopeSpans[0].Spans, traces[1].ResourceSpans[0].ScopeSpans[0].Spans
	if len(first) != 3 || len(second) != 1 {
		t.Fatalf("%d and %d spans", len(first), len(second))
	}
	for _, s := range first[1:] {
		if !bytes.Equal(s.TraceId, first[0].TraceId) || !bytes.Equal(s.ParentSpanId, first[0].SpanId) {
			t.Errorf("%s is not in the call", s.Name)
		}
	}
	if links := second[0].Links; len(links) != 1 || !bytes.Equal(links[0].SpanId, first[1].SpanId) || !bytes.Equal(links[0].TraceId, first[0].TraceId) {
		t.Errorf("links: %v", links)
	}
	if s := first[1]; s.Name != "patch deployments" || s.StartTimeUnixNano != uint64(write.Time.UnixNano()) || s.EndTimeUnixNano-s.StartTimeUnixNano != uint64(write.Took) || len(s.Events) != 1 || s.Events[0].Name != "spec.replicas" {
		t.Errorf("the write: %v", s)
	}
	if a, b := first[2].Status, second[0].Status; a.GetMessage() != "conflict" || b.GetMessage() != "no" || a.Code != trace.Status_STATUS_CODE_ERROR || b.Code != a.Code {
		t.Errorf("status: %v, %v", a, b)
	}
	checkJSON(t, lines[0])
}

// checkJSON: the format's own rules, beyond protobuf's.
func checkJSON(t *testing.T, line string) {
	t.Helper()
	var data struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID string
					Kind            int
					Attributes      []struct {
						Key   string
						Value map[string]string
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(line), &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range data.ResourceSpans[0].ScopeSpans[0].Spans {
		trace, err := hex.DecodeString(s.TraceID)
		span, err2 := hex.DecodeString(s.SpanID)
		if err != nil || err2 != nil || len(trace) != traceBytes || len(span) != spanBytes {
			t.Errorf("IDs %q, %q", s.TraceID, s.SpanID)
		}
		for _, a := range s.Attributes {
			for _, v := range a.Value {
				got[a.Key] = v
			}
		}
	}
	for key, want := range map[string]string{
		"code.file.path": "internal/controller/shop.go", "code.line.number": "9", "http.response.status_code": "409", "mysdk.cause": "the operator started", "mysdk.effect": "refused",
		"mysdk.requeue_after": "", // negative
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}
