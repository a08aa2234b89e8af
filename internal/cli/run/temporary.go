package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/host"
)

const (
	// temporaryName is the length of what makes the name of a cluster unique that goes
	// with its command: longer than anybody types.
	temporaryName = 16
	keptName      = 8 // that of one that is kept, whose name people do type
	// temporaryStart is how long the directory of a cluster is left alone: another
	// mysdk may be about to start one there.
	temporaryStart = time.Minute
)

// newTemporary removes what runs of the command that were killed have left, and
// names a cluster for this one. One that is kept is never removed so.
func newTemporary(ctx context.Context, h host.Host, command string, keep bool) (string, error) {
	length := temporaryName
	if keep {
		length = keptName
	}
	name := command + "-" + strings.ToLower(rand.Text()[:length])
	list, err := cluster.List(ctx, h)
	if err != nil {
		return "", err
	}
	own := regexp.MustCompile(fmt.Sprintf("^%s-[a-z2-7]{%d}$", command, temporaryName))
	for _, c := range list {
		if c.State == cluster.Running || !own.MatchString(c.Name) {
			continue
		}
		info, err := h.Files.Lstat(c.StateDir)
		if err != nil || h.Now().Sub(info.ModTime()) < temporaryStart {
			continue // it has been removed since, or is being started
		}
		if _, err := cluster.Reset(ctx, h, c.Name); err != nil {
			return "", err
		}
	}
	return name, nil
}
