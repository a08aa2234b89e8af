package state

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/example/mysdk/internal/recording"
)

// Paths of the control socket for what `mysdk run local` needs.
const (
	// RecordingPath answers POST with the user in "operator" and the directory of its
	// project in "project" by recording until the client hangs up, and GET with a recording.Recording: of requests those
	// behind "after" and of lines those behind "line", waiting for "wait" where
	// there are none.
	RecordingPath = "/recording"
	// RefusedPath answers GET with the []recording.Use that the operator of "project"
	// was refused, in the order in which that began. It waits up to "wait" for more
	// than "known" of them.
	RefusedPath = "/recording/refused"
	// ReconcilesPath takes a stream of recording.Reconcile by POST. As of the next
	// two, what is not of the recorded project is dropped, which "project" names.
	ReconcilesPath = "/reconciles"
	// WebhooksPath takes one recording.Webhook by POST.
	WebhooksPath = "/recording/webhooks"
	// LinesPath takes a stream of recording.Line by POST.
	LinesPath = "/recording/lines"
	// CredentialsPath answers POST of a User with a kubeconfig.
	CredentialsPath = "/credentials"
)

// User is who a kubeconfig is for.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
	// AuthProvider is the name of a plug-in that the client program registers;
	// a program without it cannot use the kubeconfig.
	AuthProvider string `json:"authProvider,omitempty"`
}

// Kubeconfig asks the server for a kubeconfig of a user of the caller's choice.
func (c Control) Kubeconfig(ctx context.Context, u User) ([]byte, error) {
	var out []byte
	err := c.sendJSON(ctx, http.MethodPost, CredentialsPath, u, func(body io.Reader) (err error) {
		out, err = io.ReadAll(body)
		return err
	})
	return out, err
}

// Record has the server record the requests of the operator of a project until ctx
// ends. began is called once it does.
func (c Control) Record(ctx context.Context, operator, project string, began func()) error {
	path := RecordingPath + "?" + url.Values{"operator": {operator}, "project": {project}}.Encode()
	return c.do(ctx, http.MethodPost, path, func(body io.Reader) error {
		if _, err := io.ReadFull(body, make([]byte, 1)); err != nil {
			return err
		}
		began()
		_, err := io.Copy(io.Discard, body)
		return err
	})
}

// Recording asks the server for what it has recorded: of requests and lines those
// behind at. With wait it answers when there are some, or that time is over.
func (c Control) Recording(ctx context.Context, at recording.Position, wait time.Duration) (recording.Recording, error) {
	path := RecordingPath + "?" + url.Values{"after": {strconv.FormatUint(at.Request, 10)}, "line": {strconv.FormatUint(at.Line, 10)}, "wait": {wait.String()}}.Encode()
	return get[recording.Recording](ctx, c, path)
}

// Refused asks the server which rights the operator of a project was refused, in the
// order in which that began. It answers when there are more than known, or wait is
// over; that another project is recorded is an error.
func (c Control) Refused(ctx context.Context, project string, known int, wait time.Duration) ([]recording.Use, error) {
	path := RefusedPath + "?" + url.Values{"project": {project}, "known": {strconv.Itoa(known)}, "wait": {wait.String()}}.Encode()
	return get[[]recording.Use](ctx, c, path)
}

// Webhook tells the server of a call of the webhooks of a project's operator.
func (c Control) Webhook(ctx context.Context, project string, call recording.Webhook) error {
	return c.sendJSON(ctx, http.MethodPost, WebhooksPath+ofProject(project), call, nil)
}

// Lines hands the log of a project's operator to the server as it comes, until end
// is closed; what is in lines then is handed over, too.
func (c Control) Lines(ctx context.Context, project string, lines <-chan recording.Line, end <-chan struct{}) error {
	body, w := io.Pipe()
	go func() {
		encode := json.NewEncoder(w).Encode
		for {
			select {
			case l := <-lines:
				if encode(l) != nil {
					return // the server has hung up
				}
				continue
			case <-end:
			}
			for len(lines) > 0 && encode(<-lines) == nil {
			}
			_ = w.Close() // never fails
			return
		}
	}()
	err := c.send(ctx, http.MethodPost, LinesPath+ofProject(project), body, nil)
	_ = body.Close() // never fails
	return err
}

// ofProject is the query that says whose a report is.
func ofProject(project string) string { return "?" + url.Values{"project": {project}}.Encode() }
