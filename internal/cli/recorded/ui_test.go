package recorded

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/localrun"
	"github.com/example/mysdk/internal/recording"
)

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
	const project = "domain: example.com\nlayout: [go.kubebuilder.io/v4]\nprojectName: shop\nrepo: example.com/shop\nversion: \"3\"\n"
	for name, text := range map[string]string{filepath.Join(w.Host.Dir, "PROJECT"): project, file: string(rec)} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
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
