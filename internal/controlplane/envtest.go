package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// parseEtcd reads the flags of the etcd binary that controller-runtime's envtest
// passes, and those that its users add. It returns nil where they ask for help.
func parseEtcd(args []string, out io.Writer) (*embed.Config, error) {
	c, set := embed.NewConfig(), pflag.NewFlagSet("etcd", pflag.ContinueOnError)
	listenClient := set.StringSlice("listen-client-urls", []string{"http://127.0.0.1:2379"}, "URLs to serve clients on")
	listenPeer := set.StringSlice("listen-peer-urls", []string{"http://127.0.0.1:2380"}, "URLs to serve peers on")
	advertise := set.StringSlice("advertise-client-urls", nil, "URLs to tell clients")
	advertisePeer := set.StringSlice("initial-advertise-peer-urls", nil, "URLs to tell peers")
	for _, name := range []string{"initial-cluster", "initial-cluster-state", "logger", "metrics"} {
		set.String(name, "", "accepted and without effect: there is one member, with one logger")
	}
	set.StringVar(&c.Name, "name", "default", "name of the member")
	set.StringVar(&c.Dir, "data-dir", "default.etcd", "directory of the data")
	set.StringVar(&c.LogLevel, "log-level", "error", "debug, info, warn, error")
	set.StringSliceVar(&c.LogOutputs, "log-outputs", []string{"stderr"}, "where logs go")
	set.BoolVar(&c.UnsafeNoFsync, "unsafe-no-fsync", false, "do not wait for the disk")
	set.Uint64Var(&c.SnapshotCount, "snapshot-count", c.SnapshotCount, "transactions between snapshots")
	set.Int64Var(&c.QuotaBackendBytes, "quota-backend-bytes", 0, "bytes that the data may have")
	set.UintVar(&c.MaxTxnOps, "max-txn-ops", c.MaxTxnOps, "operations in a transaction")
	set.UintVar(&c.MaxRequestBytes, "max-request-bytes", c.MaxRequestBytes, "bytes of a request")
	help := set.BoolP("help", "h", false, "print the flags")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if *help {
		_, err := fmt.Fprint(out, set.FlagUsages())
		return nil, err
	}
	if len(*advertise) == 0 {
		advertise = listenClient
	}
	if len(*advertisePeer) == 0 {
		advertisePeer = listenPeer
	}
	for to, from := range map[*[]url.URL]*[]string{
		&c.ListenClientUrls: listenClient, &c.AdvertiseClientUrls: advertise,
		&c.ListenPeerUrls: listenPeer, &c.AdvertisePeerUrls: advertisePeer,
	} {
		*to = nil
		for _, s := range *from {
			parsed, err := url.Parse(s)
			if err != nil {
				return nil, err
			}
			*to = append(*to, *parsed)
		}
	}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.TickMs, c.ElectionMs = etcdTickMs, etcdElectionMs
	return c, nil
}

// RunEtcd behaves as the etcd binary does when controller-runtime's envtest
// starts it: the same flags, /health on the client URL, and an end soon after
// ctx's. Its help goes to out.
func RunEtcd(ctx context.Context, args []string, out io.Writer) error {
	config, err := parseEtcd(args, out)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if config == nil {
		return nil
	}
	wal.SegmentSizeBytes = etcdWALBytes // or every test suite would take 128 MB of disk
	e, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	select {
	case err := <-e.Err():
		return fmt.Errorf("etcd: %w", err)
	case <-ctx.Done():
		// All that was acknowledged is in the log: a graceful end would take
		// seconds and change nothing.
		return nil
	}
}

// RunAPIServer behaves as the kube-apiserver binary: its flags, its health
// endpoints, and an end soon after ctx's. Its help goes to out. minor is the
// version to behave as, such as 1.34; empty is its own.
func RunAPIServer(ctx context.Context, args []string, minor string, out io.Writer) error {
	if err := quiet(out, 0); err != nil {
		return err
	}
	o := apioptions.NewServerRunOptions()
	help := pflag.NewFlagSet("", pflag.ContinueOnError)
	sets := o.Flags()
	for _, set := range sets.FlagSets {
		help.AddFlagSet(set)
	}
	wanted := help.BoolP("help", "h", false, "print the flags")
	if err := help.Parse(append(emulationFlags(minor), args...)); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if *wanted {
		_, err := fmt.Fprint(out, help.FlagUsages())
		return err
	}
	config, err := configureAPI(ctx, o, behavedAs(minor))
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	generic := config.KubeAPIs.ControlPlane.Generic
	generic.DisabledPostStartHooks.Insert(slowHooks()...)
	client, err := kubernetes.NewForConfig(generic.LoopbackClientConfig)
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	ended, created := make(chan error, 2), make(chan struct{})
	// What asks for the health of Kubernetes' own server finds the objects there.
	generic.AddHealthChecks(healthz.NamedCheck("default-objects", func(*http.Request) error {
		select {
		case <-created:
			return nil
		default:
			return errors.New("not created yet")
		}
	}))
	go func() { ended <- serveAPI(ctx, config) }()
	go func() {
		if err := defaultsWhenServing(ctx, client); err != nil {
			ended <- err
			return
		}
		close(created)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		// What was acknowledged is in etcd's log.
		return nil
	}
}

// defaultsWhenServing creates the default objects once the server answers.
func defaultsWhenServing(ctx context.Context, client kubernetes.Interface) error {
	err := waitServing(ctx, client)
	if err == nil {
		err = createDefaults(ctx, client)
	}
	if ctx.Err() != nil {
		return nil // the end, not a failure
	}
	return err
}
