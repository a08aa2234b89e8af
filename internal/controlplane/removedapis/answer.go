package removedapis

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// answer changes the documents of an answer as they come: one, or the events of
// a watch. What is not JSON is left alone.
type answer struct {
	http.ResponseWriter
	change func(document) error

	headed bool
	to     *io.PipeWriter // nil: nothing to change
	ended  chan struct{}
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if !a.headed && strings.HasPrefix(a.Header().Get("Content-Type"), "application/json") {
		a.Header().Del("Content-Length")
		var from *io.PipeReader
		from, a.to = io.Pipe()
		a.ended = make(chan struct{})
		go a.pass(from)
	}
	a.headed = true
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if !a.headed {
		a.WriteHeader(http.StatusOK)
	}
	if a.to == nil {
		return a.ResponseWriter.Write(p)
	}
	return a.to.Write(p)
}

// Flush implements http.Flusher: each document is sent as soon as it is whole.
func (a *answer) Flush() {
	if a.to == nil {
		// Nobody is told of a client that is gone.
		_ = http.NewResponseController(a.ResponseWriter).Flush()
	}
}

// pass changes each document and sends it on, until the answer ends.
func (a *answer) pass(from *io.PipeReader) {
	defer close(a.ended)
	in, out := json.NewDecoder(from), json.NewEncoder(a.ResponseWriter)
	for {
		var doc document
		err := in.Decode(&doc)
		if err == nil {
			err = a.change(doc)
		}
		if err == nil {
			err = out.Encode(doc)
		}
		if err == nil {
			err = http.NewResponseController(a.ResponseWriter).Flush()
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			from.CloseWithError(err) // the writer's next write ends with it
			return
		}
	}
}

// done sends the rest.
func (a *answer) done() {
	if a.to != nil {
		_ = a.to.Close() // it never fails
		<-a.ended
	}
}
