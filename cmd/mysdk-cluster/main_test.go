package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/clierr"
)

func TestServeFlags(t *testing.T) {
	flags, o := serveFlags(&bytes.Buffer{})
	dir := filepath.Join(t.TempDir(), "one")
	args := []string{"--dir", dir, "--port", "20001", "--nodes", "3", "--fsync", "-v", "2", "--die-with-parent", "--apiserver-only"}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := o.check(flags.Args()); err != nil {
		t.Fatal(err)
	}
	if o.Dir != dir || o.Port != 20001 || o.Nodes != 3 || !o.FSync || o.Verbosity != 2 || !o.dieWithParent || !o.APIServerOnly {
		t.Errorf("options = %+v", o)
	}
}

func TestBadCommandLinesAreUsageErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "one")
	tests := map[string]struct {
		args []string
		want string
	}{
		"unknown command":  {[]string{"start"}, `unknown command "start"`},
		"unknown flag":     {[]string{"serve", "--bind", "0.0.0.0"}, "bind"},
		"no directory":     {[]string{"serve"}, "--dir is required"},
		"argument":         {[]string{"serve", "--dir", dir, "now"}, `unexpected argument "now"`},
		"name":             {[]string{"serve", "--dir", filepath.Join(dir, "Not A Name")}, "cluster name"},
		"negative nodes":   {[]string{"serve", "--dir", dir, "--nodes", "-1"}, "--nodes -1"},
		"many nodes":       {[]string{"serve", "--dir", dir, "--nodes", "1000"}, "--nodes 1000"},
		"port":             {[]string{"serve", "--dir", dir, "--port", "70000"}, "--port 70000"},
		"port of the word": {[]string{"serve", "--dir", dir, "--port", "https"}, "port"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := run(append([]string{"mysdk-cluster"}, tc.args...), time.Now())
			if clierr.CodeOf(err) != clierr.CodeUsage || clierr.HintOf(err) == "" || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("run() = %v, code %d, hint %q, want exit code 2 and %q", err, clierr.CodeOf(err), clierr.HintOf(err), tc.want)
			}
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var out bytes.Buffer
	flags, _ := serveFlags(&out)
	if err := flags.Parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("Parse(-h) = %v", err)
	}
	flags.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(out.String(), "-"+f.Name) {
			t.Errorf("help lacks -%s", f.Name)
		}
	})
	if !strings.Contains(out.String(), "mysdk-cluster kubectl") {
		t.Errorf("help:\n%s", &out)
	}
}

func TestValidateEndsWithItsContext(t *testing.T) {
	in, _ := io.Pipe() // nobody ever writes
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := validateBundle(ctx, in, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("validateBundle() = %v", err)
	}
}
