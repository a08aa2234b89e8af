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

// etcdFlags are the flags of the etcd binary that controller-runtime's envtest
// passes, and those that its users add.
type etcdFlags struct {
	set           *pflag.FlagSet
	config        *embed.Config
	listenClient  []string
	listenPeer    []string
	advertise     []string
	advertisePeer []string
	help          bool
}

func newEtcdFlags() *etcdFlags {
	f := &etcdFlags{set: pflag.NewFlagSet("etcd", pflag.ContinueOnError), config: embed.NewConfig()}
	f.set.StringSliceVar(&f.listenClient, "listen-client-urls", []string{"http://127.0.0.1:2379"}, "URLs to serve clients on")
	f.set.StringSliceVar(&f.listenPeer, "listen-peer-urls", []string{"http://127.0.0.1:2380"}, "URLs to serve peers on")
	f.set.StringSliceVar(&f.advertise, "advertise-client-urls", nil, "URLs to tell clients")
	f.set.StringSliceVar(&f.advertisePeer, "initial-advertise-peer-urls", nil, "URLs to tell peers")
	for _, name := range []string{"initial-cluster", "initial-cluster-state", "logger", "metrics"} {
		f.set.String(name, "", "accepted and without effect: there is one member, with one logger")
	}
	f.set.StringVar(&f.config.Name, "name", "default", "name of the member")
	f.set.StringVar(&f.config.Dir, "data-dir", "default.etcd", "directory of the data")
	f.set.StringVar(&f.config.LogLevel, "log-level", "error", "debug, info, warn, error")
	f.set.StringSliceVar(&f.config.LogOutputs, "log-outputs", []string{"stderr"}, "where logs go")
	f.set.BoolVar(&f.config.UnsafeNoFsync, "unsafe-no-fsync", false, "do not wait for the disk")
	f.set.Uint64Var(&f.config.SnapshotCount, "snapshot-count", f.config.SnapshotCount, "transactions between snapshots")
	f.set.Int64Var(&f.config.QuotaBackendBytes, "quota-backend-bytes", 0, "bytes that the data may have")
	f.set.UintVar(&f.config.MaxTxnOps, "max-txn-ops", f.config.MaxTxnOps, "operations in a transaction")
	f.set.UintVar(&f.config.MaxRequestBytes, "max-request-bytes", f.config.MaxRequestBytes, "bytes of a request")
	f.set.BoolVarP(&f.help, "help", "h", false, "print the flags")
	return f
}

// RunEtcd behaves as the etcd binary does when controller-runtime's envtest
// starts it: the same flags, /health on the client URL, and an end soon after
// ctx's. Its help goes to out.
func RunEtcd(ctx context.Context, args []string, out io.Writer) error {
	f := newEtcdFlags()
	if err := f.set.Parse(args); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if f.help {
		_, err := fmt.Fprint(out, f.set.FlagUsages())
		return err
	}
	if err := f.complete(); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	wal.SegmentSizeBytes = etcdWALBytes // or every test suite would take 128 MB of disk
	e, err := embed.StartEtcd(f.config)
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

// complete turns the URLs into etcd's configuration.
func (f *etcdFlags) complete() error {
	c := f.config
	if len(f.advertise) == 0 {
		f.advertise = f.listenClient
	}
	if len(f.advertisePeer) == 0 {
		f.advertisePeer = f.listenPeer
	}
	for _, u := range []struct {
		to   *[]url.URL
		from []string
	}{{&c.ListenClientUrls, f.listenClient}, {&c.ListenPeerUrls, f.listenPeer}, {&c.AdvertiseClientUrls, f.advertise}, {&c.AdvertisePeerUrls, f.advertisePeer}} {
		*u.to = nil
		for _, s := range u.from {
			parsed, err := url.Parse(s)
			if err != nil {
				return err
			}
			*u.to = append(*u.to, *parsed)
		}
	}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.TickMs, c.ElectionMs = etcdTickMs, etcdElectionMs
	return nil
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
