// Package ui is the live view: web pages about an operator that `mysdk run local`
// runs on an embedded cluster. It knows what the pages show, how they stay up to
// date and who may see them; where a recording comes from, what opens a browser
// and how a cluster is found, it does not.
//
// Everything is rendered here, with html/template. A page is a row of the table in
// pages.go and a template pages/NAME.html; most have a file of their own with the
// data. The template defines "main", the page below its title, and one template for
// each of Page.Fragments, which main has in an element with the fragment's name as
// its id:
//
//	{{define "main"}}<section id="list">{{template "list" .}}</section>{{end}}
//	{{define "list"}}{{range .Data.Rows}}…{{end}}{{end}}
//
// Templates get a View; what Page.Render has returned is its Data. While a page
// is open it is rendered again whenever the recording grows, and fragments that
// differ are sent to the browser as server-sent events; assets/live.js puts them
// in place. Parts of a fragment that are to keep their state, such as an open
// <details>, need an id. There are no inline scripts and styles: the
// Content-Security-Policy refuses them, so an SVG uses presentation attributes
// and classes.
//
// A page that writes has Page.Act, for its forms with method="post". It is only
// called where there is a cluster to write to, with requests of the page itself.
package ui

import (
	"context"
	"net/url"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/manifests"
	"github.com/example/mysdk/internal/objects"
	"github.com/example/mysdk/internal/recording"
)

// Source is where pages get what they show. Only Recording, Rules and,
// with Connect or Inject, Now are required.
type Source struct {
	Project string // name
	Cluster string // name of the embedded cluster
	// RoleNamespace is that of markers to add; empty: all namespaces.
	RoleNamespace string

	// Recording returns what was recorded, of requests and lines those behind
	// at. Where there is nothing new, and Active, it waits for so long.
	Recording func(ctx context.Context, at recording.Position, wait time.Duration) (recording.Recording, error)
	// Connect returns a client of the embedded cluster, an administrator's; the
	// same one each time, so that pages may call it often. The error is for
	// people: no cluster is running. Nil: there is none.
	Connect func(ctx context.Context) (*kube.Client, error)
	// Rules returns what the project's roles and markers grant. It may take a moment.
	Rules func(ctx context.Context) ([]recording.Rule, error)
	// Samples are what there is to try the operator with. Nil: nothing.
	Samples func(ctx context.Context) ([]manifests.File, error)
	// Crash kills the operator as a crash would and has it started again. Nil:
	// it is not ours.
	Crash func(ctx context.Context) error
	// Inject has requests of one operator go wrong until ctx ends; hit is called
	// as soon as they do, and each time that one does. Nil: they cannot.
	Inject func(ctx context.Context, f state.Fault, hit func()) error
	Now    func() time.Time // when objects changed
	Zone   *time.Location   // of the times that pages show; nil: this machine's
}

// Page is one page: the answer to one question.
type Page struct {
	Name     string // path and template: lower-case letters
	Title    string
	Question string // that the page answers, shown below the title
	// Fragments are the templates that are kept up to date, by element id.
	Fragments []string
	Every     time.Duration // at least, between two renderings of an open page
	// Render returns the template's Data. It is called for each request and, for
	// open pages, after each change, so it must not take long.
	Render func(ctx context.Context, r *Request) (any, error)
	// Act answers POST: it does what the form says, and returns the path to show
	// then; empty is the page itself. Nil: the page writes nothing.
	Act func(ctx context.Context, r *Request) (location string, err error)
	// Check answers POST to /check/NAME, where forms with data-check send what was
	// typed so far, with what is wrong by field. Nil: there is nothing to check.
	Check func(ctx context.Context, r *Request) (map[string]string, error)
}

// Request is a request for a page.
type Request struct {
	Query     url.Values // of the address
	Form      url.Values // of a POST; nil otherwise
	Live      bool       // for an open page, after a change
	Recording recording.Recording
	Mirror    *objects.Mirror // of the cluster; empty where there is none
	Source    Source

	trouble *trouble
}

// View is what templates get.
type View struct {
	Page    Page
	Pages   []Page // of the navigation
	Query   url.Values
	Live    string // address of the events of this page; empty where it stays as it is
	Status  Status
	Source  Source
	Data    any
	Problem string // what kept the page from being rendered, in place of Data
}

// Status is the state of the recording, which each page shows.
type Status struct {
	recording.Recording        // Since is zero: nothing has been recorded
	Problem             string // why it could not be read
	Offline             error  // why the cluster cannot be read
}
