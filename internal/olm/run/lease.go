package run

import (
	"context"
	"regexp"

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
func leaderLeases(ctx context.Context, r Reader, namespace string, csvs ...string) (objects, error) {
	pattern := regexp.MustCompile(lockPattern)
	var leases objects
	for _, name := range csvs {
		c, err := look(ctx, r, namespace, "", name)
		if err != nil {
			return nil, err
		}
		csv := c.csv()
		if csv == nil {
			continue
		}
		for _, log := range logsOf(ctx, r, c.podsOf(c.deployments.ownedBy(csv)), kube.LogOptions{Limit: logStart}) {
			for _, m := range pattern.FindAllStringSubmatch(log, -1) {
				// Only in the operator's own namespace is it surely its own.
				if m[1] == namespace && leases.find(m[2]) == nil {
					leases = append(leases, kube.Named("coordination.k8s.io/v1", "Lease", namespace, m[2]))
				}
			}
		}
	}
	return leases, nil
}
