package run

import (
	"context"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

// lockPattern is how client-go's leader election names its lease in the log: that
// of klog, or since controller-runtime 0.25 the manager's own, as text or JSON.
const lockPattern = `leader lease.*lock(?:=|": ?)"([^/"]+)/([^"]+)"`

// logStart is how much of a log is searched for that: it is among the first lines.
const logStart = 1 << 20

// leaderLeases are the leases by which the operators of these CSVs elect their
// leader. When a CSV goes, its roles go before its pods, and the lease cannot
// be given back: whoever comes next would wait for it to expire.
func leaderLeases(ctx context.Context, r Reader, namespace string, csvs ...string) ([]*unstructured.Unstructured, error) {
	pattern := regexp.MustCompile(lockPattern)
	var leases []*unstructured.Unstructured
	for _, name := range csvs {
		c, err := look(ctx, r, namespace, "", name)
		if err != nil {
			return nil, err
		}
		csv := c.csv()
		if csv == nil {
			continue
		}
		for _, pod := range c.podsOf(c.deployments.ownedBy(csv)) {
			for _, s := range entries(pod, "spec", "containers") {
				log, err := r.Logs(ctx, namespace, pod.GetName(), kube.LogOptions{Container: field(s, "name"), Limit: logStart})
				if err != nil {
					continue // it never ran
				}
				for _, m := range pattern.FindAllSubmatch(log, -1) {
					lease := kube.Named("coordination.k8s.io/v1", "Lease", string(m[1]), string(m[2]))
					known := slices.ContainsFunc(leases, func(l *unstructured.Unstructured) bool { return kube.RefOf(l) == kube.RefOf(lease) })
					// Only in the operator's own namespace is it surely its own.
					if lease.GetNamespace() == namespace && !known {
						leases = append(leases, lease)
					}
				}
			}
		}
	}
	return leases, nil
}
