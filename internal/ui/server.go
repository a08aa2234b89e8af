package ui

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/objects"
)

// Server serves the live view on loopback.
type Server struct {
	source    Source
	feed      *feed
	mirror    *objects.Mirror
	pages     []Page
	templates map[string]*template.Template // by page
	listener  net.Listener
	guard     *guard
	trouble   *trouble
}

// Listen opens the live view on a port of loopback; 0 is a free one. Nobody is
// served before Serve.
func Listen(ctx context.Context, s Source, port int) (*Server, error) {
	s.Zone = cmp.Or(s.Zone, time.Local)
	srv := &Server{source: s, feed: newFeed(s), mirror: objects.New(s.Now), pages: allPages(), templates: map[string]*template.Template{}, trouble: &trouble{inject: s.Inject, clock: s.Now}}
	for _, p := range srv.pages {
		t, err := parse(p, s.Zone)
		if err != nil {
			return nil, err
		}
		srv.templates[p.Name] = t
	}
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	mux.Handle("GET /{$}", http.RedirectHandler("/"+srv.pages[0].Name, http.StatusSeeOther))
	for _, p := range srv.pages {
		mux.HandleFunc("GET /"+p.Name, func(w http.ResponseWriter, r *http.Request) { srv.servePage(w, r, p) })
		mux.HandleFunc("GET /live/"+p.Name, func(w http.ResponseWriter, r *http.Request) { srv.serveEvents(w, r, p) })
		mux.HandleFunc("POST /check/"+p.Name, func(w http.ResponseWriter, r *http.Request) { srv.serveCheck(w, r, p) })
		mux.HandleFunc("POST /"+p.Name, func(w http.ResponseWriter, r *http.Request) { srv.serveAct(w, r, p) })
	}
	var l net.ListenConfig
	if srv.listener, err = l.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err != nil {
		return nil, fmt.Errorf("open the live view: %w", err)
	}
	_, at, _ := net.SplitHostPort(srv.listener.Addr().String())
	srv.guard = &guard{
		token: rand.Text(), once: rand.Text(), session: rand.Text(), cookie: "mysdk-" + at,
		hosts: []string{"127.0.0.1:" + at, "localhost:" + at}, next: mux,
	}
	return srv, nil
}

// URL is the address to open. Who has it may see, and change, everything.
func (s *Server) URL() string { return s.with(s.guard.token) }

// URLOnce is an address that can be opened once: arguments of programs, such as
// of what opens a browser, can be seen by other users.
func (s *Server) URLOnce() string { return s.with(s.guard.once) }

func (s *Server) with(token string) string {
	return "http://" + s.listener.Addr().String() + "/?" + url.Values{"token": {token}}.Encode()
}

// Serve answers until ctx ends, which is no error.
func (s *Server) Serve(ctx context.Context) error {
	const slow = 10 * time.Second // for a request's headers
	// Streams of events end with ctx, so that nothing has to be waited for.
	following, stop := context.WithCancel(ctx)
	var mirrored sync.WaitGroup
	mirrored.Go(func() { s.followCluster(following) })
	defer mirrored.Wait()
	defer s.trouble.end()
	defer stop()
	h := &http.Server{Handler: s.guard, ReadHeaderTimeout: slow, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := context.AfterFunc(ctx, func() { _ = h.Close() }) // an error: it is closed
	defer ended()
	if err := h.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the live view: %w", err)
	}
	return nil
}

func (s *Server) view(ctx context.Context, p Page, r *Request) View {
	rec, _, failed, offline := s.feed.read()
	r.Recording, r.Mirror, r.Source, r.trouble = rec, s.mirror, s.source, s.trouble
	v := View{Page: p, Pages: s.pages, Query: r.Query, Source: s.source, Status: Status{Recording: rec, Offline: offline}}
	if failed != nil {
		v.Status.Problem = failed.Error()
	}
	v.Live = "/live/" + p.Name
	if len(r.Query) > 0 {
		v.Live += "?" + r.Query.Encode()
	}
	var err error
	if v.Data, err = p.Render(ctx, r); err != nil {
		v.Problem, v.Live = err.Error(), ""
	}
	return v
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request, p Page) {
	s.feed.update(r.Context(), 0)
	s.write(w, s.view(r.Context(), p, &Request{Query: r.URL.Query()}), http.StatusOK)
}

func (s *Server) serveAct(w http.ResponseWriter, r *http.Request, p Page) {
	form := s.form(w, r, p.Act != nil)
	if form == nil {
		return
	}
	to, err := p.Act(r.Context(), form)
	if err != nil {
		v := s.view(r.Context(), p, &Request{Query: r.URL.Query()})
		v.Problem, v.Live = err.Error(), ""
		s.write(w, v, http.StatusUnprocessableEntity)
		return
	}
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") {
		to = "/" + p.Name
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// serveCheck says what is wrong with what a form has so far, as JSON.
func (s *Server) serveCheck(w http.ResponseWriter, r *http.Request, p Page) {
	form := s.form(w, r, p.Check != nil)
	if form == nil {
		return
	}
	said, err := p.Check(r.Context(), form)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(said) // an error: the browser has gone
}

// form reads a form. Nil: it is of no use to the page, which has been answered.
func (s *Server) form(w http.ResponseWriter, r *http.Request, wanted bool) *Request {
	if !wanted || s.source.Connect == nil {
		http.Error(w, "there is nothing to change here", http.StatusMethodNotAllowed)
		return nil
	}
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil
	}
	s.feed.update(r.Context(), 0)
	rec, _, _, _ := s.feed.read()
	return &Request{Query: r.URL.Query(), Form: r.PostForm, Recording: rec, Mirror: s.mirror, Source: s.source, trouble: s.trouble}
}

// followCluster keeps the mirror up to date. A cluster that is not there may
// come, or come back.
func (s *Server) followCluster(ctx context.Context) {
	const pause = 2 * time.Second
	for there := s.source.Connect != nil; there; there = host.Pause(ctx, pause) {
		c, err := s.source.Connect(ctx)
		if s.feed.reached(err); err == nil {
			_ = s.mirror.Follow(ctx, c) // an error: the cluster has gone
		}
	}
}

// write sends a whole page, or none.
func (s *Server) write(w http.ResponseWriter, v View, code int) {
	var b bytes.Buffer
	if err := s.templates[v.Page.Name].Execute(&b, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // an error: the browser has gone
}
