package upgrade

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

var (
	samples    = flag.String("samples", "", "directory with projects to upgrade")
	samplesOut = flag.String("samples-out", "", "directory to write them to, upgraded")
)

// Projects from elsewhere, such as the test data of kubebuilder and
// operator-sdk at many tags, can be upgraded, deploy what they did, and have
// nothing left to do. Compare what comes out with what another
// version of mysdk makes of them.
func TestUpgrade_Samples(t *testing.T) {
	if *samples == "" {
		t.Skip("no -samples")
	}
	dirs, err := filepath.Glob(filepath.Join(*samples, "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no projects in %s: %v", *samples, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			to := filepath.Join(*samplesOut, filepath.Base(dir))
			if *samplesOut == "" {
				to = filepath.Join(t.TempDir(), "project")
			}
			if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			o := Options{Files: host.OSFiles{}, Dir: to, Plugin: v4.Plugin{CLIVersion: "v0.1.0", Year: 2026}}
			p, err := o.New()
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Verify(t.Context(), p); err != nil {
				t.Error(err)
			}
			if err := (fileset.Tree{FS: o.Files, Root: to}).Commit(t.Context(), p.Set, "upgrade"); err != nil {
				t.Fatal(err)
			}
			if again, err := o.New(); err != nil || !again.Empty() {
				t.Errorf("the second time: %v %v", again, err)
			}
		})
	}
}
