// Package otlp writes a recording as traces for OpenTelemetry: lines of OTLP as
// JSON, as the collector's file exporter writes them and its otlpjsonfile
// receiver reads them. It knows that format and what a recording has, and not
// how one is fetched.
package otlp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/example/mysdk/internal/recording"
)

const (
	traceBytes, spanBytes = 16, 8 // of IDs
	scope                 = "mysdk"
)

// Write writes a line for each call: a trace of one span with the call's
// requests below it. A cause that was written in a call that has a trace is a
// link to it. r is the recording that the calls are from.
func Write(w io.Writer, r recording.Recording, calls []recording.Call) error {
	requests := r.ByReconcile()
	name := r.Operator[strings.LastIndex(r.Operator, ":")+1:]
	for _, c := range calls {
		spans := []*trace.Span{callSpan(c, requests[c.ID])}
		for _, q := range requests[c.ID] {
			spans = append(spans, requestSpan(q))
		}
		data, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(&trace.TracesData{ResourceSpans: []*trace.ResourceSpans{{
			Resource:   &resource.Resource{Attributes: attributes("service.name", name, "service.instance.id", c.Process)},
			ScopeSpans: []*trace.ScopeSpans{{Scope: &common.InstrumentationScope{Name: scope}, Spans: spans}},
		}}})
		if err != nil {
			return fmt.Errorf("encode the trace of a reconcile: %w", err)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, data); err != nil { // protojson puts spaces at random
			return fmt.Errorf("encode the trace of a reconcile: %w", err)
		}
		line.WriteByte('\n')
		if _, err := w.Write(line.Bytes()); err != nil {
			return fmt.Errorf("write the trace of a reconcile: %w", err)
		}
	}
	return nil
}

// callSpan is the root of a trace. A call that has not ended ends with its last
// request so far.
func callSpan(c recording.Call, requests []recording.Request) *trace.Span {
	end := c.End
	if end.IsZero() {
		end = c.Begin
		for _, q := range requests {
			if last := q.Time.Add(q.Took); last.After(end) {
				end = last
			}
		}
	}
	s := span("Reconcile "+c.Kind, c.Begin, end)
	s.Kind, s.TraceId, s.SpanId = trace.Span_SPAN_KIND_CONSUMER, id(traceBytes, c.ID), id(spanBytes, c.ID)
	var causes []string
	for _, cause := range c.Causes {
		causes = append(causes, cause.Text())
		if q := cause.Request; q != nil && q.Reconcile != "" {
			s.Links = append(s.Links, &trace.Span_Link{TraceId: id(traceBytes, q.Reconcile), SpanId: requestID(*q)})
		}
	}
	s.Attributes = attributes("k8s.namespace.name", c.Namespace, "mysdk.object.kind", c.Kind, "mysdk.object.name", c.Name,
		"mysdk.controller", c.Controller, "mysdk.cause", strings.Join(causes, "\n"), "mysdk.requeue_after", max(0, c.After))
	if c.Error != "" {
		s.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: c.Error}
	}
	return s
}

// requestSpan is below the span of its call.
func requestSpan(q recording.Request) *trace.Span {
	right := q.Right()
	s := span(q.Verb+" "+right.Resource+right.Path, q.Time, q.Time.Add(q.Took))
	s.Kind, s.TraceId, s.ParentSpanId, s.SpanId = trace.Span_SPAN_KIND_CLIENT, id(traceBytes, q.Reconcile), id(spanBytes, q.Reconcile), requestID(q)
	pairs := []any{
		"k8s.namespace.name", q.Namespace, "mysdk.object.kind", q.Kind, "mysdk.object.name", q.Name,
		"mysdk.verb", q.Verb, "mysdk.group", q.Group, "mysdk.version", q.Version, "mysdk.resource", right.Resource,
		"http.response.status_code", q.Code,
	}
	if q.Writes() {
		pairs = append(pairs, "mysdk.effect", q.Effect())
	}
	if len(q.Frames) > 0 {
		pairs = append(pairs, "code.stacktrace", strings.Join(q.Frames, "\n"))
		file, line, _ := strings.Cut(q.Frames[0], ":")
		if n, err := strconv.Atoi(line); err == nil {
			pairs = append(pairs, "code.file.path", file, "code.line.number", n)
		}
	}
	s.Attributes = attributes(pairs...)
	for _, c := range q.Changes {
		s.Events = append(s.Events, &trace.Span_Event{Name: c.Path, TimeUnixNano: nano(q.Time.Add(q.Took)), Attributes: attributes("mysdk.old", text(c.Old), "mysdk.new", text(c.New))})
	}
	if q.Code >= 400 {
		s.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: q.Message}
	}
	return s
}

func span(name string, begin, end time.Time) *trace.Span {
	return &trace.Span{Name: strings.TrimSpace(name), StartTimeUnixNano: nano(begin), EndTimeUnixNano: nano(end)}
}

func nano(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func requestID(q recording.Request) []byte {
	return id(spanBytes, fmt.Sprintf("%s request %d", q.Reconcile, q.Seq))
}

// id is the ID of that many bytes for a name. OTLP has IDs in hexadecimal,
// protojson writes bytes in base64; as hexadecimal digits are digits of base64
// too, these are the bytes that come out as such.
func id(size int, name string) []byte {
	sum := sha256.Sum256([]byte(name))
	out, _ := base64.StdEncoding.DecodeString(hex.EncodeToString(sum[:size])) // no error for sizes that are multiples of 8
	return out
}

// attributes are pairs of keys and values; empty texts and times are left out.
func attributes(pairs ...any) []*common.KeyValue {
	var list []*common.KeyValue
	for i := 0; i+1 < len(pairs); i += 2 {
		value := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: fmt.Sprint(pairs[i+1])}}
		if n, ok := pairs[i+1].(int); ok {
			value.Value = &common.AnyValue_IntValue{IntValue: int64(n)}
		}
		if pairs[i+1] != "" && pairs[i+1] != time.Duration(0) {
			list = append(list, &common.KeyValue{Key: fmt.Sprint(pairs[i]), Value: value})
		}
	}
	return list
}

// text is a value as JSON, empty for none.
func text(v any) string {
	if v == nil {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
