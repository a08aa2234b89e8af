package recording

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Webhook is one call of the operator's webhooks by the API server.
type Webhook struct {
	Seq       uint64        `json:"seq"` // of the first request that was noted later
	UID       string        `json:"uid"` // of the review
	Time      time.Time     `json:"time"`
	Took      time.Duration `json:"took"`              // nanoseconds
	Webhook   string        `json:"webhook,omitempty"` // its name in the project's configuration, or conversion of a kind
	Path      string        `json:"path"`
	Operation string        `json:"operation"` // CREATE, UPDATE, DELETE, CONNECT; CONVERT
	Resource  string        `json:"resource,omitempty"`
	User      string        `json:"user,omitempty"`
	DryRun    bool          `json:"dryRun,omitempty"`
	Object    `json:"object"`

	Before  map[string]any `json:"before,omitempty"` // the object as the webhook was given it; of DELETE the one that is there
	Patch   []PatchOp      `json:"patch,omitempty"`
	Allowed bool           `json:"allowed"`
	Code    int            `json:"code"`              // of HTTP, or of a refusal
	Message string         `json:"message,omitempty"` // of a refusal, or of an error
	Warns   []string       `json:"warnings,omitempty"`
	Version string         `json:"version,omitempty"` // apiVersion that is converted to
	Objects int            `json:"objects,omitempty"` // that are converted
}

// PatchOp is an operation of a JSON patch.
type PatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from,omitempty"`
	Value any    `json:"value,omitempty"`
}

// review is an AdmissionReview or a ConversionReview.
type review struct {
	Request struct {
		UID  string
		Kind struct{ Kind string }
		// Resource is plural, and SubResource empty for most.
		Resource          struct{ Group, Resource string }
		SubResource       string
		Name, Namespace   string
		Operation         string
		UserInfo          struct{ Username string }
		Object, OldObject map[string]any
		DryRun            bool
		DesiredAPIVersion string
		Objects           []struct{ Kind string }
	}
	Response struct {
		Allowed bool
		Status  struct {
			Code    int
			Message string
		}
		Result   struct{ Status, Message string }
		Patch    []byte
		Warnings []string
	}
}

// ReadWebhook takes apart what a webhook was asked and has answered, with the
// code of HTTP. The values of Secrets are hashed with the salt. Time, Took and
// Webhook are the caller's to say.
func ReadWebhook(path string, request, answer []byte, code int, salt []byte) (Webhook, error) {
	var r review
	if err := json.Unmarshal(request, &r); err != nil {
		return Webhook{}, fmt.Errorf("read the review that %s was asked: %w", path, err)
	}
	q := r.Request
	w := Webhook{
		UID: q.UID, Path: path, Operation: q.Operation, Resource: withSub(q.Resource.Resource, q.SubResource), User: q.UserInfo.Username, DryRun: q.DryRun,
		Object: Object{Kind: q.Kind.Kind, Namespace: q.Namespace, Name: q.Name}, Code: code, Version: q.DesiredAPIVersion, Objects: len(q.Objects),
	}
	w.Before = q.Object
	if w.Before == nil {
		w.Before = q.OldObject
	}
	if w.Name == "" {
		meta, _ := w.Before["metadata"].(map[string]any)
		w.Name, _ = meta["name"].(string)
	}
	if w.Before != nil {
		w.Before, _ = short(Redact(w.Kind, w.Before, salt)).(map[string]any)
	}
	if len(q.Objects) > 0 {
		w.Operation, w.Kind = "CONVERT", q.Objects[0].Kind
	}
	if code != http.StatusOK {
		w.Message, _ = short(string(answer)).(string)
		return w, nil
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		w.Message = "the answer is not a review: " + err.Error()
		return w, nil
	}
	w.Allowed, w.Message, w.Warns = r.Response.Allowed, r.Response.Status.Message, r.Response.Warnings
	if r.Response.Status.Code != 0 {
		w.Code = r.Response.Status.Code
	}
	if w.Operation == "CONVERT" {
		w.Allowed, w.Message = r.Response.Result.Status == "Success", r.Response.Result.Message
	}
	w.Patch = patchOf(r.Response.Patch, w.Kind, salt)
	return w, nil
}

// patchOf are the operations of a patch; none for one that is none.
func patchOf(data []byte, kind string, salt []byte) []PatchOp {
	var ops []PatchOp
	if json.Unmarshal(data, &ops) != nil {
		return nil
	}
	for i, op := range ops {
		if kind == "Secret" && op.Value != nil {
			ops[i].Value = digest(op.Value, salt)
		} else {
			ops[i].Value = short(op.Value)
		}
	}
	return ops
}
