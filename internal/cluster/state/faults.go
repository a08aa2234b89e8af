package state

import (
	"context"
	"io"
	"net/http"
	"time"
)

// FaultsPath answers POST of a Fault with a JSON value when it is armed, and one
// more each time that it happens, until the client hangs up: then it is gone.
const FaultsPath = "/faults"

// Fault is what goes wrong between one operator and the API server.
type Fault struct {
	Operator string `json:"operator"` // user
	Injection
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

// Injection is what goes wrong, and for which requests. Fields that are empty match
// every request; with a Resource, Group and Subresource are exact. Creations have no
// Name: it is not in their path.
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

// Inject has the server inject a fault until ctx ends. hit is called once it is
// armed, and once more each time that it happens.
func (c Control) Inject(ctx context.Context, f Fault, hit func()) error {
	return c.sendJSON(ctx, http.MethodPost, FaultsPath, f, func(body io.Reader) error {
		return decodeEach(body, func(struct{}) { hit() })
	})
}
