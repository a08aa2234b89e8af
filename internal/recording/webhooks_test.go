package recording

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadWebhook(t *testing.T) {
	ask := func(kind, rest string) string {
		return fmt.Sprintf(`{"request":{"uid":"u","kind":{"group":"g","version":"v1","kind":%q},"resource":{"resource":"things"},"name":"a","namespace":"default","operation":"UPDATE","userInfo":{"username":"me"}%s}}`, kind, rest)
	}
	patch := base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/spec/size","value":3}]`))
	asked := Webhook{UID: "u", Path: "/mutate", Operation: "UPDATE", Resource: "things", User: "me", Object: Object{Kind: "Shop", Namespace: "default", Name: "a"}, Code: 200}
	with := func(change func(*Webhook)) Webhook {
		w := asked
		change(&w)
		return w
	}
	tests := map[string]struct {
		request, answer string
		code            int
		want            Webhook
	}{
		"patched": {
			ask("Shop", `,"object":{"spec":{}},"oldObject":{"old":true},"dryRun":true`), `{"response":{"allowed":true,"patch":"` + patch + `","warnings":["w"]}}`, 200,
			with(func(w *Webhook) {
				w.Before, w.Allowed, w.DryRun, w.Warns = map[string]any{"spec": map[string]any{}}, true, true, []string{"w"}
				w.Patch = []PatchOp{{Op: "add", Path: "/spec/size", Value: 3.0}}
			}),
		},
		"refused": {
			ask("Shop", `,"oldObject":{"old":true}`), `{"response":{"allowed":false,"status":{"code":403,"message":"no"}}}`, 200,
			with(func(w *Webhook) { w.Before, w.Code, w.Message = map[string]any{"old": true}, 403, "no" }),
		},
		"generated name": {
			strings.Replace(ask("Shop", `,"object":{"metadata":{"name":"b"}}`), `"name":"a",`, "", 1), `{"response":{"allowed":true}}`, 200,
			with(func(w *Webhook) {
				w.Name, w.Before, w.Allowed = "b", map[string]any{"metadata": map[string]any{"name": "b"}}, true
			}),
		},
		"does not answer": {ask("Shop", ""), "gone\n", 502, with(func(w *Webhook) { w.Code, w.Message = 502, "gone\n" })},
		"converted": {
			`{"request":{"uid":"u","desiredAPIVersion":"g/v2","objects":[{"kind":"Shop"},{"kind":"Shop"}]}}`, `{"response":{"result":{"status":"Failure","message":"no"}}}`, 200,
			Webhook{UID: "u", Path: "/mutate", Operation: "CONVERT", Object: Object{Kind: "Shop"}, Code: 200, Message: "no", Version: "g/v2", Objects: 2},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ReadWebhook("/mutate", []byte(tc.request), []byte(tc.answer), tc.code, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := ReadWebhook("/mutate", []byte("{"), nil, 200, nil); err == nil {
		t.Error("no review, and no error")
	}
}

// TestReadWebhookOfSecret: neither the object nor the patch has a value.
func TestReadWebhookOfSecret(t *testing.T) {
	patch := base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/data/b","value":"cGFzc3dvcmQ="},{"op":"remove","path":"/data/c"}]`))
	got, err := ReadWebhook("/mutate", []byte(`{"request":{"kind":{"kind":"Secret"},"object":{"data":{"a":"cGFzc3dvcmQ="}}}}`), []byte(`{"response":{"allowed":true,"patch":"`+patch+`"}}`), 200, []byte("salt"))
	if err != nil || len(got.Patch) != 2 || got.Patch[1].Value != nil || strings.Contains(fmt.Sprint(got), "cGFzc3dvcmQ") || !strings.Contains(fmt.Sprint(got.Before), "hidden:") {
		t.Errorf("%+v %v", got, err)
	}
}

// TestAppend: nothing is there twice, of what is told again, and nothing that is lost. All
// is there of what happened within one tick of the clock.
func TestAppend(t *testing.T) {
	first := Recording{Next: 3, Requests: []Request{{Seq: 1}, {Seq: 2}}, Events: []Event{{Time: second(1), Name: "a"}}, Webhooks: []Webhook{{UID: "1"}}}
	r := Recording{}
	r.Append(first)
	r.Append(Recording{Next: 4, Lost: 1, Requests: []Request{{Seq: 2}, {Seq: 3}}, Events: []Event{{Time: second(1), Name: "a"}, {Time: second(2), Name: "b"}, {Time: second(2), Name: "c"}}, Webhooks: []Webhook{{UID: "1"}, {UID: "2"}}})
	if len(r.Requests) != 2 || r.Requests[0].Seq != 2 || len(r.Events) != 2 || r.Events[1].Name != "c" || len(r.Webhooks) != 2 || r.Next != 4 {
		t.Errorf("%+v", r)
	}
	r.Append(Recording{Next: 9, Lost: 7, Requests: []Request{{Seq: 8}}})
	if len(r.Requests) != 1 || len(r.Events) != 0 || len(r.Webhooks) != 0 {
		t.Errorf("what is lost stays: %+v", r)
	}
	more := Recording{Next: 9, EventsSince: second(1)}
	for n := range EventsKept + 1 {
		more.Events = append(more.Events, Event{Seq: 9, Time: second(float64(n + 2))})
	}
	for n := range WebhooksKept + 1 {
		more.Webhooks = append(more.Webhooks, Webhook{Seq: 9, UID: strconv.Itoa(n)})
	}
	r.Append(more)
	if len(r.Events) != EventsKept || len(r.Webhooks) != WebhooksKept || r.Webhooks[0].UID != "1" || !r.EventsSince.Equal(second(2)) {
		t.Errorf("%d events since %v, %d webhooks", len(r.Events), r.EventsSince, len(r.Webhooks))
	}
}
