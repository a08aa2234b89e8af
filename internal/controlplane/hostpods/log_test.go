package hostpods

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func writeLog(t *testing.T, l *containerLog, text string) {
	t.Helper()
	if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write() = %d, %v", n, err)
	}
}

func TestContainerLog(t *testing.T) {
	path := logName(t.TempDir(), "manager", 2)
	l, err := createLog(path)
	if err != nil {
		t.Fatal(err)
	}
	writeLog(t, l, "one\ntw")
	writeLog(t, l, "o\n\nfour")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("the second Close() = %v", err)
	}
	for name, tc := range map[string]struct {
		o    logOptions
		want string
	}{
		"all":           {logOptions{tail: -1}, "one\ntwo\n\nfour\n"},
		"tail":          {logOptions{tail: 2}, "\nfour\n"},
		"tail of none":  {logOptions{}, ""},
		"tail of more":  {logOptions{tail: 9}, "one\ntwo\n\nfour\n"},
		"limit":         {logOptions{tail: -1, limit: 5}, "one\nt"},
		"since later":   {logOptions{tail: -1, since: time.Now().Add(time.Hour)}, ""},
		"since earlier": {logOptions{tail: -1, since: time.Now().Add(-time.Hour)}, "one\ntwo\n\nfour\n"},
		"follow":        {logOptions{tail: -1, follow: true}, "one\ntwo\n\nfour\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := readLog(t.Context(), path, l, tc.o, &out); err != nil || out.String() != tc.want {
				t.Errorf("readLog() = %q, %v, want %q", out.String(), err, tc.want)
			}
		})
	}
	if l.message() != "one\ntwo\n\nfour" {
		t.Errorf("message() = %q", l.message())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info, err)
	}
}

func TestContainerLogIsBounded(t *testing.T) {
	path := logName(t.TempDir(), "manager", 0)
	l, err := createLog(path)
	if err != nil {
		t.Fatal(err)
	}
	l.limit = 1000
	for n := range 500 {
		writeLog(t, l, fmt.Sprintf("line %d\n", n))
	}
	writeLog(t, l, strings.Repeat("x", 2*lineLimit))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 2 {
		t.Errorf("files: %v, %v", files, err)
	}
	var out bytes.Buffer
	if err := readLog(t.Context(), path, nil, logOptions{tail: -1}, &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "line 100\n") || strings.Count(text, "x") < lineLimit {
		t.Errorf("the log holds %d bytes", len(text))
	}
	if len(l.message()) > messageLimit {
		t.Errorf("the message has %d bytes", len(l.message()))
	}
	if !strings.HasPrefix(l.ends(), "line 0\n") {
		t.Errorf("it begins with %.20q", l.ends())
	}
}

// shared is a buffer that is written by one and read by another.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestFollowedLogLosesNothing(t *testing.T) {
	path := logName(t.TempDir(), "manager", 0)
	l, err := createLog(path)
	if err != nil {
		t.Fatal(err)
	}
	l.limit = 10 << 10
	var out shared
	ended := make(chan error, 1)
	go func() { ended <- readLog(t.Context(), path, l, logOptions{tail: -1, follow: true}, &out) }()
	var want strings.Builder
	for n := range 1000 {
		line := fmt.Sprintf("line %d\n", n)
		want.WriteString(line)
		writeLog(t, l, line)
		// The reader is never more than a file behind.
		if n%100 == 99 {
			waitForLog(t, l, &out, want.Len())
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || out.String() != want.String() {
		t.Errorf("it read %d of %d bytes, %v", len(out.String()), want.Len(), err)
	}
}

// waitForLog waits until a reader of l has passed on size bytes.
func waitForLog(t *testing.T, l *containerLog, out *shared, size int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(out.String()) < size; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute it has read %d of %d bytes", len(out.String()), size)
		}
		l.mu.Lock()
		l.tell()
		l.mu.Unlock()
	}
}

// For one who reads a file, a line that goes over the end of a page is written
// in two. Half a time stamp cannot be told from text.
func TestFollowedLogHasWholeLines(t *testing.T) {
	path := logName(t.TempDir(), "manager", 0)
	l, err := createLog(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("x\n", 50000)
	var outs [2]bytes.Buffer
	ended := make(chan error, len(outs))
	for n := range outs {
		go func() { ended <- readLog(t.Context(), path, l, logOptions{tail: -1, follow: true}, &outs[n]) }()
	}
	for part := range slices.Chunk([]byte(want), 20) {
		writeLog(t, l, string(part))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for range outs {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for n := range outs {
		if got := outs[n].String(); got != want {
			t.Errorf("reader %d has %d bytes, want %d", n, len(got), len(want))
		}
	}
}

func TestFollowEndsWithItsReader(t *testing.T) {
	path := logName(t.TempDir(), "manager", 0)
	l, err := createLog(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := readLog(ctx, path, l, logOptions{follow: true}, &bytes.Buffer{}); err != nil {
		t.Errorf("readLog() = %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := readLog(t.Context(), path+"x", nil, logOptions{}, &bytes.Buffer{}); !os.IsNotExist(err) {
		t.Errorf("of a log that is not there: %v", err)
	}
}

func TestLogQuery(t *testing.T) {
	for query, fails := range map[string]string{
		"follow=true&tailLines=5&limitBytes=9&timestamps=true&previous=true&sinceSeconds=3": "",
		"": "", "sinceTime=2026-01-02T03:04:05Z": "", "follow=0": "", "follow=False": "",
		"tailLines=-1": "tailLines", "tailLines=x": `"x"`, "limitBytes=0": "limitBytes",
		"sinceSeconds=0": "sinceSeconds", "sinceSeconds=x": `"x"`, "sinceTime=x": `"x"`,
		"sinceSeconds=3&sinceTime=2026-01-02T03:04:05Z": "exclude",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		o, previous, err := logQuery(values)
		if fails != "" {
			if err == nil || !strings.Contains(err.Error(), fails) {
				t.Errorf("%s: %v", query, err)
			}
			continue
		}
		full := strings.HasPrefix(query, "follow=true") // a kubelet takes an empty one for true, too
		if err != nil || previous != full || o.follow != full || o.timestamps != full || (o.tail == 5) != full || o.since.IsZero() == strings.Contains(query, "since") {
			t.Errorf("%s: %+v, %v, %v", query, o, previous, err)
		}
	}
}
