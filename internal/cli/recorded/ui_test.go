package recorded

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/cluster/clustertest"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/localrun"
	"github.com/example/mysdk/internal/recording"
)

// TestReadOfThisProject: what a cluster records of another project's operator is not
// taken for this one's, and the last run is parsed again only when there was another.
func TestReadOfThisProject(t *testing.T) {
	w := hosttest.New(t)
	f := &cli.Factory{Host: w.Host}
	project := w.Host.Dir
	clustertest.Serve(t, w.Host, "default", func() any {
		return recording.Recording{Operator: "running", Project: project, Active: true}
	})
	file, err := localrun.RecordingFile(w.Host, w.Host.Dir)
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700)); err != nil {
		t.Fatal(err)
	}
	last := &lastRun{}
	check := func(want string, wantErr bool) {
		t.Helper()
		rec, _, err := read(t.Context(), f, last, "default", recording.Position{}, 0)
		if rec.Operator != want || (err != nil) != wantErr {
			t.Errorf("it is of %q, %v, want %q", rec.Operator, err, want)
		}
	}
	keep := func(text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	check("running", false)
	project = "/another"
	check("", true)
	keep(`{"operator":"a"}`, time.Unix(1, 0))
	check("a", false)
	keep(`{"operator":"b"}`, time.Unix(1, 0)) // as if it had not changed
	check("a", false)
	keep(`{"operator":"b"}`, time.Unix(2, 0))
	check("b", false)
}

// TestFind: the project's run is found on whichever cluster it is, unless one is named.
func TestFind(t *testing.T) {
	w := hosttest.New(t)
	for name, project := range map[string]string{"default": "/another", "bug": w.Host.Dir} {
		clustertest.Serve(t, w.Host, name, func() any { return recording.Recording{Operator: name, Project: project, Active: true} })
	}
	put(t, map[string]string{w.Path("PROJECT"): shopProject})
	for named, want := range map[bool]string{false: "bug", true: "default"} {
		c, name := NewUI(&cli.Factory{}), "default"
		c.Flag("cluster").Changed = named
		rec, err := load(t.Context(), &cli.Factory{Host: w.Host, Running: c}, &name)
		if name != want || (err == nil) != (rec.Operator == "bug") {
			t.Errorf("named %v: %q, on cluster %s: %v", named, rec.Operator, name, err)
		}
	}
	w.Host.Dir = t.TempDir()
	if _, err := load(t.Context(), &cli.Factory{Host: w.Host, Running: NewUI(&cli.Factory{})}, new(string)); err == nil || !strings.Contains(err.Error(), "no PROJECT file") {
		t.Errorf("without a project: %v", err)
	}
}

// TestUI: the last run is shown by 'mysdk ui' until Ctrl-C, which is no error.
func TestUI(t *testing.T) {
	w := hosttest.New(t)
	out, in := io.Pipe()
	w.Host.IO.Out = in
	file, err := localrun.RecordingFile(w.Host, w.Host.Dir)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := json.Marshal(recording.Recording{Operator: "op", Since: time.Unix(1, 0), Active: true, Next: 2, Requests: []recording.Request{{Seq: 1, User: "op", Verb: "list", Resource: "shops", Name: "of-the-last-run", Code: 200}}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, map[string]string{w.Path("PROJECT"): shopProject, file: string(rec)})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan error, 1)
	go func() {
		err := runUI(ctx, &cli.Factory{Host: w.Host, Running: NewUI(&cli.Factory{})}, &uiOptions{Target: cli.Target{Name: "default"}, noOpen: true})
		_ = in.Close() // it never fails
		ended <- err
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v, %v", err, <-ended)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	base, _, _ := strings.Cut(address, "?")
	for _, step := range []struct{ address, text string }{{strings.TrimSpace(address), "the last run"}, {base + "requests", "of-the-last-run"}} {
		resp, err := c.Get(step.address)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close() // it was read
		if err != nil || !strings.Contains(string(body), step.text) {
			t.Errorf("no %q: %v\n%s", step.text, err, body)
		}
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
}
