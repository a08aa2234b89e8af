package v4

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDump(t *testing.T) {
	dir := os.Getenv("DUMP")
	if dir == "" {
		t.Skip()
	}
	var p *project
	for _, line := range strings.Split(os.Getenv("CMDS"), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if f[0] == "init" {
			p = newTestProject(t, f[1:]...)
		} else {
			sub := p.mustCreateAPI(t, f[1:]...)
			t.Log(sub.Notes(), sub.ResourceExtras())
		}
	}
	for n, s := range p.files(t) {
		n = filepath.Join(dir, n)
		os.MkdirAll(filepath.Dir(n), 0o755)
		os.WriteFile(n, []byte(s), 0o644)
	}
}
