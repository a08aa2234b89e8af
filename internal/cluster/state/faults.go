package state

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// FaultsPath answers POST of Faults with a JSON value when they are armed, and
// one for each Hit, until the client hangs up: then they are gone.
const FaultsPath = "/faults"

// Faults are what goes wrong between one operator and the API server.
type Faults struct {
	Operator string      `json:"operator"` // user
	List     []Injection `json:"list"`
}

// What an Injection does.
const (
	FaultHold   = "hold"   // the write is done, its answer never comes: the operator waits until it is killed
	FaultLose   = "lose"   // the write is done, and answered with 504 Gateway Timeout
	FaultRefuse = "refuse" // the request is answered with Code, Delay later, in place of being served
	FaultDelay  = "delay"  // the request is served Delay later
	FaultStale  = "stale"  // lists are answered as of Revision, and watches from there get no events
	FaultGap    = "gap"    // watches get no events; when the fault goes they end with 410 Gone
)

// Injection is one of them. Fields that are empty match every request; with a
// Resource, Group and Subresource are exact. Creations have no Name: it is not in
// their path.
type Injection struct {
	Do          string        `json:"do"`
	Verb        string        `json:"verb,omitempty"` // Kubernetes' own, such as update
	Group       string        `json:"group,omitempty"`
	Resource    string        `json:"resource,omitempty"`
	Subresource string        `json:"subresource,omitempty"`
	Namespace   string        `json:"namespace,omitempty"`
	Name        string        `json:"name,omitempty"`
	Nth         int           `json:"nth,omitempty"`   // of the requests that match, of FaultHold and FaultLose those that changed something, from 1; 0: all
	Code        int           `json:"code,omitempty"`  // HTTP status, 400 to 511
	Delay       time.Duration `json:"delay,omitempty"` // nanoseconds
	Revision    string        `json:"revision,omitempty"`
}

// Hit says that a fault has happened.
type Hit struct {
	Fault int `json:"fault"` // index in Faults.List; -1: the faults are armed
}

// Inject has the server inject faults until ctx ends. hit is called once they
// are armed, with -1, and with the index of each fault that happens.
func (c Control) Inject(ctx context.Context, f Faults, hit func(index int)) error {
	return c.sendJSON(ctx, http.MethodPost, FaultsPath, "the faults", f, func(body io.Reader) error {
		for d := json.NewDecoder(body); ; {
			var h Hit
			if err := d.Decode(&h); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			hit(h.Fault)
		}
	})
}
