package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Paths of the control socket, which speaks HTTP.
const (
	StatusPath = "/status" // GET: one Status
	FollowPath = "/follow" // GET: a Status for every change until it is ready or has failed, one JSON value each
	StopPath   = "/stop"   // POST: end the server
	HeapPath   = "/heap"   // GET: a profile of its heap, for go tool pprof; ?debug=1 as text, with figures of the whole process
)

// Stage is a step of the start and when it was done.
type Stage struct {
	Name  string        `json:"name"`
	After time.Duration `json:"after"` // from the start of the process, in nanoseconds
}

// Status is what a server reports over the control socket.
type Status struct {
	State
	Ready  bool    `json:"ready"`
	Stages []Stage `json:"stages,omitempty"`
	Failed string  `json:"failed,omitempty"` // why it will not become ready
	Memory int64   `json:"memory,omitempty"` // resident bytes, 0 where unknown

	Processes []Process `json:"processes,omitempty"` // containers that programs of this machine serve
}

// Control speaks to a server over its control socket.
type Control struct{ Socket string }

// Status asks the server for its status.
func (c Control) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, StatusPath)
}

// Follow calls each with the status now and after every change, until the
// server is ready, has failed or ends. The last status is returned too; it is
// neither ready nor failed if the server went away.
func (c Control) Follow(ctx context.Context, each func(Status)) (Status, error) {
	var last Status
	err := c.do(ctx, http.MethodGet, FollowPath, func(body io.Reader) error {
		return decodeEach(body, func(s Status) {
			last = s
			each(s)
		})
	})
	return last, err
}

// decodeEach reads JSON values, one after the other, until the server ends.
func decodeEach[T any](body io.Reader, each func(T)) error {
	for d := json.NewDecoder(body); ; {
		var one T
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		each(one)
	}
}

// Stop asks the server to end. It returns when the server has agreed; the
// lock tells when it has gone.
func (c Control) Stop(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, StopPath, nil)
}

func get[T any](ctx context.Context, c Control, path string) (v T, err error) {
	err = c.do(ctx, http.MethodGet, path, func(body io.Reader) error { return json.NewDecoder(body).Decode(&v) })
	return v, err
}

func (c Control) do(ctx context.Context, method, path string, read func(io.Reader) error) error {
	return c.send(ctx, method, path, http.NoBody, read)
}

// maxRefusal is how much of a refusal's text is passed on, in bytes.
const maxRefusal = 4096

// send is do with a request body. What the server refuses is an error with its
// own words where it has any.
func (c Control) send(ctx context.Context, method, path string, body io.Reader, read func(io.Reader) error) error {
	if c.Socket == "" {
		return fmt.Errorf("ask the control plane: it has no control socket")
	}
	var d net.Dialer
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", c.Socket)
		},
		DisableKeepAlives: true,
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://control"+path, body)
	if err != nil {
		return fmt.Errorf("ask the control plane: %w", err)
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("ask the control plane: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		err = refusal(resp)
	} else if read != nil {
		err = read(resp.Body)
	}
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("ask the control plane: %w", err)
	}
	return nil
}

func (c Control) sendJSON(ctx context.Context, method, path string, value any, read func(io.Reader) error) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode a %T: %w", value, err)
	}
	return c.send(ctx, method, path, bytes.NewReader(data), read)
}

func refusal(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if said := strings.TrimSpace(string(text)); err == nil && resp.StatusCode == http.StatusUnprocessableEntity && said != "" {
		return errors.New(said)
	}
	return fmt.Errorf("it answered %s", resp.Status)
}
