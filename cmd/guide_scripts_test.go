package cmd_test

import (
	"io"
	"log"
	"net"
	"net/http/httptest"
	"regexp"
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

// eventually is the command of scripts for what comes about in its own time:
// eventually PATTERN COMMAND... runs a command again until it succeeds and what
// it prints matches.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually PATTERN COMMAND...")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	err = await(func() error {
		if err := ts.Exec(args[1], args[2:]...); err != nil {
			return err
		}
		if !pattern.MatchString(ts.ReadFile("stdout")) {
			return errNotYet
		}
		return nil
	})
	ts.Check(err)
}

// freePort is the command freeport of scripts: it puts a free port of this
// machine into a variable.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport VARIABLE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	ts.Check(err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Check(l.Close())
	ts.Setenv(args[0], port)
}
