package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"go.yaml.in/yaml/v3"
)

// operatorArg as the first argument has the test binary play an operator: a
// program that says what it was started with and does what it is asked to over
// HTTP, at the address of its probes.
const operatorArg = "play-operator"

// playedOperator is the state of that program.
type playedOperator struct {
	probes, metrics, config string
	webhookPort             int
	elect, deaf, crash      bool
	exit                    int
	unhealthy, unready      atomic.Bool
}

// playOperator does not return before it is told to.
func playOperator(args []string) int {
	o := &playedOperator{}
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.StringVar(&o.probes, "health-probe-bind-address", ":8081", "")
	flags.StringVar(&o.metrics, "metrics-bind-address", "none", "")
	flags.IntVar(&o.webhookPort, "webhook-port", 9443, "")
	flags.StringVar(&o.config, "config", "", "")
	flags.BoolVar(&o.elect, "leader-elect", false, "")
	flags.BoolVar(&o.deaf, "deaf", false, "")
	flags.BoolVar(&o.crash, "crash", false, "")
	flags.IntVar(&o.exit, "exit", -1, "")
	flags.BoolFunc("unready", "", func(string) error { o.unready.Store(true); return nil })
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("args:", strings.Join(args, " "))
	for _, e := range slices.Sorted(slices.Values(os.Environ())) {
		fmt.Println("env:", e)
	}
	dir, err := os.Getwd()
	fmt.Println("dir:", dir, err)
	switch {
	case o.exit >= 0:
		return o.exit
	case o.crash:
		fmt.Fprintln(os.Stderr, "cannot go on")
		return 3
	case o.elect && os.Getenv("POD_NAMESPACE") == "":
		fmt.Fprintln(os.Stderr, `{"level":"error","error":"unable to find leader election namespace: not running in-cluster, please specify LeaderElectionNamespace"}`)
		return 1
	}
	listener, err := net.Listen("tcp", o.probes)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("serving at", listener.Addr())
	srv := &http.Server{Handler: o.handler()} //nolint:gosec // a test's
	go func() { _ = srv.Serve(listener) }()
	<-ctx.Done()
	fmt.Println("told to stop")
	if o.deaf {
		select {}
	}
	return 0
}

func (o *playedOperator) handler() http.Handler {
	mux := http.NewServeMux()
	probe := func(bad *atomic.Bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if bad.Load() {
				http.Error(w, "not well", http.StatusInternalServerError)
			}
		}
	}
	mux.HandleFunc("/healthz", probe(&o.unhealthy))
	mux.HandleFunc("/readyz", probe(&o.unready))
	mux.HandleFunc("/unhealthy", func(http.ResponseWriter, *http.Request) { o.unhealthy.Store(true) })
	mux.HandleFunc("/unready", func(_ http.ResponseWriter, r *http.Request) { o.unready.Store(r.FormValue("on") != "false") })
	mux.HandleFunc("/say", func(_ http.ResponseWriter, r *http.Request) { fmt.Println(r.FormValue("text")) })
	mux.HandleFunc("/exit", func(_ http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.FormValue("code"))
		fmt.Println("last words")
		os.Exit(code)
	})
	mux.HandleFunc("/spawn", func(w http.ResponseWriter, r *http.Request) {
		child := exec.CommandContext(context.WithoutCancel(r.Context()), "sleep", "300")
		if err := child.Start(); err != nil {
			fmt.Fprint(w, err)
			return
		}
		fmt.Fprint(w, child.Process.Pid)
	})
	mux.HandleFunc("/config", func(w http.ResponseWriter, _ *http.Request) {
		data, err := os.ReadFile(o.config)
		fmt.Fprint(w, string(data), err)
	})
	mux.HandleFunc("/api", func(w http.ResponseWriter, r *http.Request) {
		code, err := askAPI(r.FormValue("path"))
		fmt.Fprint(w, code, err)
	})
	return mux
}

// askAPI gets a path of the API server by the kubeconfig in the environment, as
// a client library would.
func askAPI(path string) (int, error) {
	data, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		return 0, err
	}
	var config struct {
		Clusters []struct{ Cluster map[string]string }
		Users    []struct {
			User struct {
				TokenFile string `yaml:"tokenFile"`
			}
		}
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return 0, err
	}
	ca, err := base64.StdEncoding.DecodeString(config.Clusters[0].Cluster["certificate-authority-data"])
	if err != nil {
		return 0, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	r, err := http.NewRequest(http.MethodGet, config.Clusters[0].Cluster["server"]+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	if file := config.Users[0].User.TokenFile; file != "" {
		token, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		r.Header.Set("Authorization", "Bearer "+string(token))
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}} //nolint:gosec // a test's
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}
