package upgrade

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
)

// Only an upgrade to this version that was begun has an end: the version alone
// would hide the old files from all later upgrades.
func TestFinish_NotBegun(t *testing.T) {
	conflict := func(s *shop) {
		s.edit("cmd/main.go", "\t// The logger comes first.\n", "\t// The logger, mine.\n")
		s.upgrade()
		s.remove("cmd/main.go.rej")
	}
	tests := map[string]struct {
		change func(*shop)
		want   string // error, empty for an end
	}{
		"nothing was done":   {func(*shop) {}, "no upgrade to v0.1.0 was started"},
		"of the other tool":  {func(s *shop) { s.edit(project.FileName, "    version: "+midVersion+"\n", "    mine: 1\n") }, "no upgrade to v0.1.0 was started"},
		"begun and resolved": {conflict, ""},
		"another mysdk since": {
			func(s *shop) { conflict(s); s.opts.Plugin.CLIVersion = "v0.2.0" },
			"the unfinished upgrade is to v0.1.0, and this is v0.2.0",
		},
		"begun anew by another": {
			func(s *shop) {
				conflict(s)
				s.opts.Plugin.CLIVersion = "v0.2.0"
				for _, name := range s.upgrade().Conflicts() {
					s.remove(name + RejectSuffix)
				}
			}, "",
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			c.change(s)
			p, err := s.opts.Finish()
			if c.want != "" {
				if err == nil || err.Error() != c.want || clierr.HintOf(err) != "run 'mysdk upgrade' first" {
					t.Errorf("got %v, %v", p, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s.commit(p.Set)
			if now := s.read(project.FileName); strings.Contains(now, "pending") || !strings.Contains(now, "version: "+s.opts.Plugin.CLIVersion) {
				t.Errorf("PROJECT is\n%s", now)
			}
		})
	}
}

// An upgrade that goes through ends one of another version that was begun.
func TestUpgrade_EndsPending(t *testing.T) {
	s := newShop(t)
	s.edit(project.FileName, "    version: "+midVersion, "    pending: v0.0.10\n    version: "+midVersion)
	if p := s.upgrade(); len(p.Conflicts()) > 0 {
		t.Fatalf("%v", p.Files)
	}
	want := strings.Replace(projectText, "%s", nowVersion, 1)
	if d := cmp.Diff(want, s.read(project.FileName)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
