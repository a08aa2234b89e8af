package recorder

import (
	"encoding/json"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
)

// trouble is a state.Fault with its end.
type trouble struct {
	state.Fault
	until time.Time
}

// Trouble has the operator's requests delayed or refused for a while, in place
// of what was said before. It ends with the recording, too.
func (r *Recorder) Trouble(f state.Fault, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble = nil
	if f.For > 0 {
		r.trouble = &trouble{f, now.Add(f.For)}
	}
}

// faultOf is what is to happen to a request; nil: nothing. Who asks is read from
// the certificate, since a refusal comes before authentication.
func (r *Recorder) faultOf(req *http.Request, now time.Time) *trouble {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.trouble == nil || req.TLS == nil || len(req.TLS.PeerCertificates) == 0:
		return nil
	case req.TLS.PeerCertificates[0].Subject.CommonName != r.operator:
		return nil
	case now.After(r.trouble.until):
		r.trouble = nil
	}
	return r.trouble
}

// hit delays a request of the operator's, or answers it. It reports whether it
// has been answered.
func (r *Recorder) hit(w http.ResponseWriter, req *http.Request, n *note) bool {
	f := r.faultOf(req, time.Now())
	if f == nil {
		return false
	}
	late := time.NewTimer(f.Delay)
	defer late.Stop()
	select {
	case <-late.C:
	case <-req.Context().Done():
	}
	if f.Code == 0 {
		return false
	}
	n.name(req, r.recorded())
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(f.Code), Reason: reasonOf(f.Code), Message: "refused by mysdk's live view, to see what the operator does then",
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Code)
	_ = json.NewEncoder(w).Encode(status) // ignore write errors: the client is gone
	return true
}

// reasonOf is what clients go by besides the code.
func reasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	case http.StatusConflict:
		return metav1.StatusReasonConflict
	case http.StatusTooManyRequests:
		return metav1.StatusReasonTooManyRequests
	case http.StatusInternalServerError:
		return metav1.StatusReasonInternalError
	case http.StatusServiceUnavailable:
		return metav1.StatusReasonServiceUnavailable
	}
	return metav1.StatusReasonUnknown
}

// name notes what a request asks for that is refused before it is authorized.
func (n *note) name(req *http.Request, user string) {
	factory := genericrequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := factory.NewRequestInfo(req)
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.request
	n.request = recording.Request{
		Time: was.Time, Agent: was.Agent, Frames: was.Frames, Reconcile: was.Reconcile, User: user, Verb: info.Verb,
		Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
	}
	if !info.IsResourceRequest {
		n.request.Path = info.Path
	}
	n.operator = true
}

// serveFault takes a state.Fault.
func (r *Recorder) serveFault(w http.ResponseWriter, req *http.Request) {
	var f state.Fault
	if err := json.NewDecoder(req.Body).Decode(&f); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	if f.Code != 0 && (f.Code < http.StatusBadRequest || f.Code > http.StatusNetworkAuthenticationRequired) {
		http.Error(w, "the code of a refusal is between 400 and 511", http.StatusUnprocessableEntity)
		return
	}
	if !r.on.Load() {
		http.Error(w, "no operator runs whose requests could be told from others", http.StatusUnprocessableEntity)
		return
	}
	r.Trouble(f, time.Now())
}
