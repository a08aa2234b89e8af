package upgrade

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host/hosttest"
)

// copied is the same project in another directory.
func (s *shop) copied(t *testing.T) *shop {
	t.Helper()
	out := emptyShop(t, s.opts)
	for name, text := range s.files() {
		out.write(name, text)
	}
	return out
}

// An upgrade of another tool's project that is killed, or fails, at any write
// leaves the project as it was or is ended by the next run.
func TestForeign_Killed(t *testing.T) {
	base, table := otherTool(t, foreignProject)
	base.opts.peers = table
	base.edit("go.mod", runtimeModule+" v0.22.0", runtimeModule+" v0.15.0")
	base.write("api/v1/shop_webhook.go", shopTypes)
	plan, err := base.opts.New()
	if err != nil {
		t.Fatal(err)
	}
	done := base.copied(t)
	count := &hosttest.Faults{Files: done.disk}
	if err := (fileset.Tree{FS: count, Root: done.dir}).Commit(t.Context(), plan.Set, "upgrade"); err != nil {
		t.Fatal(err)
	}
	before, want := base.files(), done.files()
	if want["Makefile"] == before["Makefile"] || want["api/v1/shop_webhook.go"] == before["api/v1/shop_webhook.go"] || want["AGENTS.md"] == "" {
		t.Fatal("the upgrade does less than it should")
	}
	// Every fifth call fails, at the others it is killed.
	rounds := hosttest.Rounds(count.Calls)
	for i := range rounds {
		at := 1 + i*count.Calls/rounds
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			s := base.copied(t)
			faults := &hosttest.Faults{Files: s.disk, At: at, Killed: at%5 != 0}
			tree := fileset.Tree{FS: faults, Root: s.dir}
			// A failure after the last rename leaves nothing to report.
			if err := tree.Commit(t.Context(), plan.Set, "upgrade"); err == nil && faults.Killed {
				t.Fatal("the upgrade went on after it was killed")
			}
			tree.FS = s.disk
			if _, err := tree.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if now := s.files(); !cmp.Equal(now, before) && !cmp.Equal(now, want) {
				t.Fatalf("neither the old project nor the new one (-new +got):\n%s", cmp.Diff(want, now))
			}
			s.upgrade()
			if d := cmp.Diff(want, s.files()); d != "" {
				t.Errorf("after the second run (-want +got):\n%s", d)
			}
		})
	}
}
