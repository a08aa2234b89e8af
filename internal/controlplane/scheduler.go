package controlplane

import (
	"context"

	schedapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	schedoptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// clientRate keeps components from waiting for their own rate limits. It is
// in requests per second.
const clientRate = "1000"

// runScheduler runs kube-scheduler without its port and without leader
// election.
func (s *server) runScheduler(ctx context.Context) error {
	o := schedoptions.NewOptions()
	err := parseFlags(*o.Flags, []string{
		"--kubeconfig=" + s.layout.OwnKubeconfig(), "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=" + clientRate, "--kube-api-burst=" + clientRate,
	})
	if err != nil {
		return err
	}
	config, scheduler, err := schedapp.Setup(ctx, o)
	if err != nil {
		return err
	}
	return schedapp.Run(ctx, config, scheduler)
}
