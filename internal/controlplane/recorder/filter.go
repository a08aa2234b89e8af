package recorder

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/example/mysdk/internal/recording"
)

// maxRefusal bounds what is kept of an answer that is an error, in bytes.
const maxRefusal = 8 << 10

// applyPatch begins the media types of server-side apply.
const applyPatch = "application/apply-patch+"

// note is what is known of a request while it is served.
type note struct {
	mu        sync.Mutex // admission may be called while an answer is written
	request   recording.Request
	operator  bool // it is the recorded operator's
	bytes     int
	stored    bool // admission has seen what is written
	effective bool // which is not what was there
	// lacking are rights that were asked for besides the request's own and that
	// the operator has not: it may do without.
	lacking []recording.Request
}

// verb is the request's, empty before it is authorized.
func (n *note) verb() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.request.Verb
}

// Wrote reports whether the request of ctx, which was served, has changed
// something. It knows of requests that are recorded.
func Wrote(ctx context.Context) bool {
	n := noteFrom(ctx)
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stored && n.effective
}

type noteKey struct{}

func noteFrom(ctx context.Context) *note {
	n, _ := ctx.Value(noteKey{}).(*note)
	return n
}

// Filter records what next answers. It stands outside of authentication and
// authorization, to see refusals.
func (r *Recorder) Filter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		frames, reconcile := req.Header.Get(recording.FramesHeader), req.Header.Get(recording.ReconcileHeader)
		if frames != "" || reconcile != "" {
			req.Header.Del(recording.FramesHeader)
			req.Header.Del(recording.ReconcileHeader)
		}
		if !r.on.Load() {
			next.ServeHTTP(w, req)
			return
		}
		// Watches are read as they are answered, which since Kubernetes 1.37 may be
		// compressed. Nothing leaves this machine that would be worth it.
		req.Header.Del("Accept-Encoding")
		n := &note{request: recording.Request{Time: time.Now(), Reconcile: reconcile}}
		n.request.Agent, _, _ = strings.Cut(req.UserAgent(), " ")
		n.request.Applied = strings.HasPrefix(req.Header.Get("Content-Type"), applyPatch)
		if frames != "" {
			n.request.Frames = strings.Split(frames, recording.FrameSeparator)
		}
		answer := &answer{ResponseWriter: w, recorder: r, note: n}
		defer answer.done()
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(answer), req.WithContext(context.WithValue(req.Context(), noteKey{}, n)))
	})
}

// answer sees the status of what is answered, and the text of a refusal.
type answer struct {
	http.ResponseWriter
	recorder *Recorder
	note     *note
	code     int
	refusal  []byte
	noted    bool
	watch    *frames // of the operator's watch
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	a.code = cmp.Or(a.code, code)
	a.ResponseWriter.WriteHeader(code)
	// A watch lasts; that it was opened is what counts.
	if code == http.StatusOK && a.note.verb() == "watch" {
		a.done()
		if a.note.operator {
			if a.watch = newFrames(a.recorder, a.note.request, a.Header().Get("Content-Type")); a.watch == nil {
				a.recorder.blind()
			}
		}
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.code == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.code >= http.StatusBadRequest && len(a.refusal) < maxRefusal {
		a.refusal = append(a.refusal, p[:min(len(p), maxRefusal-len(a.refusal))]...)
	}
	switch {
	case a.watch == nil:
	case a.recorder.on.Load():
		a.watch.write(p)
	default:
		a.watch = nil // frames are counted from the first one on
	}
	return a.ResponseWriter.Write(p)
}

// done keeps the request, once, if it is one to keep.
func (a *answer) done() {
	if a.noted {
		return
	}
	a.noted = true
	n := a.note
	n.mu.Lock()
	defer n.mu.Unlock()
	n.request.Took = time.Since(n.request.Time)
	n.request.Code = a.code
	if a.code >= http.StatusBadRequest {
		n.request.Message = refusalText(a.refusal)
		n.request.Changes, n.request.Owners = nil, nil // they never came to be
	}
	if a.code == http.StatusForbidden {
		for _, q := range n.lacking {
			a.recorder.use(q.Right(), q.Namespace, q.Name, false, n.request.Frames)
		}
	}
	if n.operator || n.stored && n.effective && a.code < http.StatusBadRequest {
		a.recorder.add(n.request, n.bytes)
	}
}

// chatter reports whether a write of others is of no interest: the heartbeats
// of the cluster's own parts.
func chatter(q recording.Request) bool {
	return q.Resource == "leases" || q.Resource == "events" || q.Resource == "endpoints" || q.Resource == "endpointslices"
}

// refusalText is the message of a Status, in whichever encoding.
func refusalText(data []byte) string {
	obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if s, ok := obj.(*metav1.Status); err == nil && ok {
		return s.Message
	}
	return strings.TrimSpace(string(data))
}

// Authorizer notes who makes a request, and which rights the operator asks
// for. What inner decides stays.
func (r *Recorder) Authorizer(inner authorizer.Authorizer) authorizer.Authorizer {
	return authorizer.AuthorizerFunc(func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		decision, reason, err := inner.Authorize(ctx, a)
		if n := noteFrom(ctx); n != nil && r.on.Load() {
			r.asked(ctx, n, a, decision == authorizer.DecisionAllow)
		}
		return decision, reason, err
	})
}

func (r *Recorder) asked(ctx context.Context, n *note, a authorizer.Attributes, allowed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	info, ok := genericrequest.RequestInfoFrom(ctx)
	main := ok && info.Verb == a.GetVerb() && info.IsResourceRequest == a.IsResourceRequest() &&
		info.Resource == a.GetResource() && info.Subresource == a.GetSubresource() && info.Path == a.GetPath()
	q := recording.Request{
		Verb: a.GetVerb(), Group: a.GetAPIGroup(), Version: a.GetAPIVersion(), Resource: a.GetResource(), Subresource: a.GetSubresource(),
		Namespace: a.GetNamespace(), Name: a.GetName(),
	}
	if !a.IsResourceRequest() {
		q.Path = a.GetPath()
	}
	user := a.GetUser().GetName()
	switch {
	case user != r.recorded():
	case main || allowed:
		r.use(q.Right(), q.Namespace, q.Name, allowed, n.request.Frames)
	default:
		n.lacking = append(n.lacking, q)
	}
	if q.Group == "" && q.Resource == "namespaces" {
		q.Namespace = "" // a request for a Namespace is authorized in it
	}
	if main {
		was := n.request
		n.request = q
		n.request.Time, n.request.Agent, n.request.Frames, n.request.Reconcile = was.Time, was.Agent, was.Frames, was.Reconcile
		n.request.Applied = was.Applied
		n.request.User = user
		n.operator = user == r.recorded()
	}
}

// recorded is the user whose requests are kept.
func (r *Recorder) recorded() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.operator
}
