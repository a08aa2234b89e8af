package ui

import (
	"bufio"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
	"github.com/example/mysdk/internal/recording"
)

// BenchmarkLive measures how long it takes from a write to the page of each of
// five readers, with 200 objects: ms-p95, of ten writes for each turn. MB-heap is
// what the live view adds to this process.
func BenchmarkLive(b *testing.B) {
	const objects, readers, writes = 200, 5, 10
	config := kubetest.Start(b)
	c, err := kube.Connect(b.Context(), kube.Options{Kubeconfig: config, Host: kubetest.World(b), Allow: []string{"mysdk-default"}})
	if err != nil {
		b.Fatal(err)
	}
	create := func(name string) {
		configMap := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default}\n", name)
		if _, err := c.Apply(b.Context(), parseObjects(b, configMap), kube.ApplyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range objects {
		create(fmt.Sprintf("object-%d", i))
	}
	before := heap()
	s := sourceOf(recording.Recording{Operator: operator, Active: true, Since: time.Now(), Next: 1})
	quiet := s.Recording
	s.Recording = func(ctx context.Context, at recording.Position, wait time.Duration) (recording.Recording, error) {
		select {
		case <-ctx.Done():
		case <-time.After(wait): // nothing is recorded
		}
		return quiet(ctx, at, wait)
	}
	s.Now, s.Connect = time.Now, func(context.Context) (*kube.Client, error) { return c, nil }
	srv := serve(b, s)
	shown := make(chan string, readers*writes)
	for range readers {
		follow(b, srv, "/live/objects?namespace=default", "object-199<", shown)
	}
	var took []time.Duration
	n := 0
	for b.Loop() {
		for range writes {
			n++
			name := fmt.Sprintf("written-%d", n)
			began := time.Now()
			create(name)
			for range readers {
				for <-shown != name {
				}
				took = append(took, time.Since(began))
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms-p95")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(heap()-before)/1e6, "MB-heap")
}

// follow reads the events of a page, until ready is in one, and on. From then on
// it tells of each object written-N once.
func follow(b *testing.B, srv *Server, path, ready string, shown chan<- string) {
	b.Helper()
	resp, err := browser(b, srv).Get(at(srv, path))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewReaderSize(resp.Body, 1<<20)
	next := func() (string, bool) {
		line, err := lines.ReadString('\n')
		return line, err == nil
	}
	for {
		line, ok := next()
		if !ok {
			b.Fatal("the stream has ended")
		}
		if strings.Contains(line, strings.ReplaceAll(ready, "<", `\u003c`)) {
			break
		}
	}
	go func() {
		for n := 1; ; {
			line, ok := next()
			if !ok {
				return
			}
			for name := fmt.Sprintf("written-%d", n); strings.Contains(line, name+`\u003c`); name = fmt.Sprintf("written-%d", n) {
				shown <- name
				n++
			}
		}
	}()
}

// heap is how much is in use, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
