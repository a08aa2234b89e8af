package localrun

import (
	"path/filepath"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
)

// Main is what run local finds out about an operator before it builds it.
type Main struct {
	Package string          // for the go command, relative to the project
	Flags   map[string]bool // names of the flags that it defines
	// WebhookSwitch says that ENABLE_WEBHOOKS=false turns its webhooks off.
	WebhookSwitch bool
}

// Inspect looks for the main package of the project in dir. That there is none
// is a usage error.
func Inspect(h host.Host, dir string) (Main, error) {
	pkg, err := mainpkg.Find(h.Files, dir)
	if err != nil {
		return Main{}, err
	}
	found, err := scanMain(h, filepath.Join(dir, filepath.FromSlash(pkg)))
	return Main{Package: pkg, Flags: found.flags, WebhookSwitch: found.webhookSwitch}, err
}
