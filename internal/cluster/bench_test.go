package cluster

import (
	"runtime"
	"testing"
	"time"
)

// BenchmarkStart measures a start from nothing: until the cluster is ready,
// and until a Deployment of 3 is Ready, both from the call of Start.
func BenchmarkStart(b *testing.B) {
	h := realHost(b)
	var ready, pods time.Duration
	for b.Loop() {
		began := time.Now()
		_, c := start(b, h, Options{Name: "bench", Progress: func(string) {}})
		ready += time.Since(began)
		c.post(deployments, deployment("web", 3))
		c.await(deployments+"/web", is("status.readyReplicas", 3.0))
		pods += time.Since(began)
		b.StopTimer()
		if _, err := Reset(b.Context(), h, "bench"); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(ready.Seconds()/float64(b.N), "s/ready")
	b.ReportMetric(pods.Seconds()/float64(b.N), "s/3-pods")
}

// BenchmarkRestart measures a start on data that are there.
func BenchmarkRestart(b *testing.B) {
	h := realHost(b)
	start(b, h, Options{Name: "bench"})
	for b.Loop() {
		b.StopTimer()
		if _, err := Stop(b.Context(), h, "bench"); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		start(b, h, Options{Name: "bench", Progress: func(string) {}})
	}
}

// BenchmarkIdleMemory reports what a cluster with one Deployment holds in
// memory when it has been left alone.
func BenchmarkIdleMemory(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("the server knows its memory on Linux only")
	}
	const idle = 15 * time.Second
	h := realHost(b)
	_, c := start(b, h, Options{Name: "bench"})
	c.post(deployments, deployment("web", 3))
	c.await(deployments+"/web", is("status.readyReplicas", 3.0))
	for b.Loop() {
		time.Sleep(idle)
	}
	info, err := Status(b.Context(), h, "bench")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Memory)/1e6, "MB")
}
