package cmd_test

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"
)

// startRegistry is the command registry of scripts: it starts an image registry
// that ends with the script, and puts its host and port into $REGISTRY.
func startRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: registry")
	}
	s := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	ts.Defer(s.Close)
	ts.Setenv("REGISTRY", strings.TrimPrefix(s.URL, "http://"))
}
