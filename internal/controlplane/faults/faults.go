// Package faults makes requests of one operator go wrong, from inside the API
// server: answers that are held, lost or refused, lists of an older state, and
// watches that miss events. It knows the handler chain; which faults are worth
// trying, and what an operator does about them, is for internal/explore and for
// whoever uses the live view.
//
// While nobody injects faults, it costs one atomic load for each request, and a
// note of each watch.
package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/example/mysdk/internal/cluster/state"
)

// Injector injects the fault of one session at a time. It is safe for
// concurrent use.
type Injector struct {
	// Wrote reports whether a write that was served has changed something.
	Wrote func(ctx context.Context) bool

	session atomic.Pointer[session]

	mu      sync.Mutex
	watches map[*watch]bool // that are open
}

// watch is an open watch of anybody.
type watch struct {
	info *genericrequest.RequestInfo
	user string
	end  context.CancelFunc
}

// session is one fault, for as long as its client stays.
type session struct {
	state.Fault
	hits chan struct{}
	over chan struct{} // closed at its end
	seen atomic.Int64  // requests that matched
}

// Handle answers on the control socket.
func (i *Injector) Handle(mux *http.ServeMux) {
	mux.HandleFunc("POST "+state.FaultsPath, i.serve)
}

// serve takes the fault of a session and answers with a line each time that it
// strikes, until the client hangs up. The first line says that it is armed: a
// client that went on before it would do so without it.
func (i *Injector) serve(w http.ResponseWriter, req *http.Request) {
	s := &session{hits: make(chan struct{}), over: make(chan struct{})}
	if err := json.NewDecoder(req.Body).Decode(&s.Fault); err != nil {
		http.Error(w, "read the fault: "+err.Error(), http.StatusUnprocessableEntity)
		return
	}
	if s.Operator == "" {
		http.Error(w, "name the operator's user", http.StatusUnprocessableEntity)
		return
	}
	if s.Do == state.FaultRefuse && (s.Code < http.StatusBadRequest || s.Code > http.StatusNetworkAuthenticationRequired) {
		http.Error(w, "the code of a refusal is between 400 and 511", http.StatusUnprocessableEntity)
		return
	}
	i.session.Store(s)
	i.cut(s)
	defer func() {
		i.session.CompareAndSwap(s, nil)
		close(s.over)
	}()
	for {
		if json.NewEncoder(w).Encode(struct{}{}) != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-s.hits:
		case <-req.Context().Done():
			return
		}
	}
}

// Filter stands behind authentication and authorization: it needs to know whose
// request it is.
func (i *Injector) Filter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericrequest.RequestInfoFrom(req.Context())
		user, known := genericrequest.UserFrom(req.Context())
		if !ok || !known || !info.IsResourceRequest {
			next.ServeHTTP(w, req)
			return
		}
		if info.Verb == "watch" {
			ctx, end := context.WithCancel(req.Context())
			defer i.open(&watch{info, user.GetName(), end})()
			req = req.WithContext(ctx)
		}
		s := i.session.Load() // now, as one that ends watches may have missed this one before
		if s == nil || user.GetName() != s.Operator {
			next.ServeHTTP(w, req)
			return
		}
		(&fault{session: s, wrote: i.Wrote, info: info}).serve(w, req, next)
	})
}

// open notes a watch until the function that it returns is called.
func (i *Injector) open(one *watch) (done func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.watches == nil {
		i.watches = map[*watch]bool{}
	}
	i.watches[one] = true
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.watches, one)
		one.end()
	}
}

// cut ends the operator's watches that are to miss events: their clients come
// back, and get none.
func (i *Injector) cut(s *session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for one := range i.watches {
		f := &fault{session: s, info: one.info}
		if one.user == s.Operator && s.Do == state.FaultGap && f.matches() {
			one.end()
		}
	}
}

// fault is one request of the operator's.
type fault struct {
	*session
	wrote func(ctx context.Context) bool
	info  *genericrequest.RequestInfo
}

// serve passes a request on, in the way of the fault if it is for it.
func (f *fault) serve(w http.ResponseWriter, req *http.Request, next http.Handler) {
	switch do := f.Do; {
	case !f.matches():
	case do == state.FaultHold, do == state.FaultLose:
		f.afterwards(w, req, next)
		return
	case do == state.FaultStale:
		f.stale(w, req, next)
		return
	case do == state.FaultGap:
		f.gap(w, req, next)
		return
	case (do == state.FaultRefuse || do == state.FaultDelay) && f.due():
		f.tell()
		f.hold(req, time.After(f.Delay))
		if do == state.FaultRefuse {
			f.refuse(w, req, f.Code)
			return
		}
	}
	next.ServeHTTP(w, req)
}

func (f *fault) matches() bool {
	one, verb := f.Injection, f.info.Verb
	if (one.Do == state.FaultStale || one.Do == state.FaultGap) && verb != "list" && verb != "watch" {
		return false
	}
	// The core group and no subresource are empty, too.
	if one.Resource != "" && (one.Group != f.info.APIGroup || one.Subresource != f.info.Subresource) {
		return false
	}
	for _, p := range [][2]string{
		{one.Verb, verb}, {one.Group, f.info.APIGroup}, {one.Resource, f.info.Resource}, {one.Subresource, f.info.Subresource},
		{one.Namespace, f.info.Namespace}, {one.Name, f.info.Name},
	} {
		if p[0] != "" && p[0] != p[1] {
			return false
		}
	}
	// Heartbeats and events are nobody's work.
	return f.info.Resource != "leases" && f.info.Resource != "events"
}

// due counts a request that matches, and reports whether the fault is for it.
func (f *fault) due() bool {
	n := f.seen.Add(1)
	return f.Nth == 0 || int64(f.Nth) == n
}

func (f *fault) tell() {
	select {
	case f.hits <- struct{}{}:
	case <-f.over:
	}
}

// hold keeps a request until the fault goes, or until enough, and reports whether its
// client still waits.
func (f *fault) hold(req *http.Request, enough <-chan time.Time) bool {
	select {
	case <-enough:
	case <-f.over:
	case <-req.Context().Done():
		return false
	}
	return true
}

func (f *fault) refuse(w http.ResponseWriter, req *http.Request, code int) {
	resource := schema.GroupResource{Group: f.info.APIGroup, Resource: f.info.Resource}
	err := apierrors.NewGenericServerResponse(code, f.info.Verb, resource, f.info.Name, "", 0, true)
	switch code {
	case http.StatusConflict:
		err = apierrors.NewConflict(resource, f.info.Name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	case http.StatusTooManyRequests:
		err = apierrors.NewTooManyRequests("too many requests", 1)
	case http.StatusGone:
		err = apierrors.NewResourceExpired("too old resource version")
	}
	// The operator's log, and who reads the recording, are to know where it is from.
	err.ErrStatus.Message += " (injected by mysdk)"
	responsewriters.ErrorNegotiated(err, legacyscheme.Codecs, schema.GroupVersion{Group: f.info.APIGroup, Version: f.info.APIVersion}, w, req)
}

// afterwards serves a write, and then loses its answer if the fault is for it.
func (f *fault) afterwards(w http.ResponseWriter, req *http.Request, next http.Handler) {
	kept := &buffer{header: w.Header().Clone()}
	next.ServeHTTP(kept, req)
	if kept.code >= http.StatusBadRequest || !f.wrote(req.Context()) || !f.due() {
		kept.send(w)
		return
	}
	f.tell()
	if f.Do == state.FaultLose {
		f.refuse(w, req, http.StatusGatewayTimeout)
		return
	}
	if f.hold(req, nil) { // else the operator was killed
		kept.send(w)
	}
}

// buffer keeps an answer until it is known what becomes of it.
type buffer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (b *buffer) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *buffer) WriteHeader(code int) {
	b.code = cmp.Or(b.code, code)
}

// Write implements http.ResponseWriter.
func (b *buffer) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}

func (b *buffer) send(w http.ResponseWriter) {
	for key, values := range b.header {
		w.Header()[key] = values
	}
	w.WriteHeader(max(b.code, http.StatusOK))
	_, _ = w.Write(b.body.Bytes()) // ignore write errors: the client is gone
}

// stale answers lists with an older state. Watches that go on from it get no
// events: the operator lives in the past until the fault goes.
func (f *fault) stale(w http.ResponseWriter, req *http.Request, next http.Handler) {
	f.tell()
	query := req.URL.Query()
	if f.info.Verb == "list" {
		query.Set("resourceVersion", f.Revision)
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
		query.Del("continue")
		req.URL.RawQuery = query.Encode()
		next.ServeHTTP(w, req)
		return
	}
	if query.Get("sendInitialEvents") == "true" {
		// Clients list then, which can be answered as of a revision.
		f.refuse(w, req, http.StatusUnprocessableEntity)
		return
	}
	if f.hold(req, nil) {
		next.ServeHTTP(w, req)
	}
}

// gap serves a watch without events. When the fault goes, the watch ends, and
// the client is told to list again.
func (f *fault) gap(w http.ResponseWriter, req *http.Request, next http.Handler) {
	if f.info.Verb == "list" {
		next.ServeHTTP(w, req)
		return
	}
	f.tell()
	if f.hold(req, nil) {
		f.refuse(w, req, http.StatusGone)
	}
}
