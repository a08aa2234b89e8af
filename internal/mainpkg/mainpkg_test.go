package mainpkg_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/mainpkg"
)

func TestFind(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		want  string // empty: an error
	}{
		"today's layout":       {[]string{"cmd/main.go", "main.go"}, "./cmd"},
		"the one before":       {[]string{"main.go", "cmd/plugin/main.go"}, "."},
		"operator-sdk 0":       {[]string{"cmd/manager/main.go", "cmd/tool/main.go"}, "./cmd/manager"},
		"the only one":         {[]string{"cmd/cockroach/main.go", "cmd/internal/x.go", "cmd/README.md"}, "./cmd/cockroach"},
		"named as the project": {[]string{"cmd/cli/main.go", "cmd/shop/main.go"}, "./cmd/shop"},
		"named by its work":    {[]string{"cmd/cli/main.go", "cmd/controller/main.go"}, "./cmd/controller"},
		"empty":                {[]string{"cmd/main.go: func main() {}"}, "./cmd"},
		"for kubebuilder only": {[]string{"cmd/main.go: func main() {}", "cmd/controller/main.go"}, "./cmd/controller"},
		"several":              {[]string{"cmd/a/main.go", "cmd/b/main.go"}, ""},
		"none":                 {[]string{"cmd/a/a.go", "pkg/main.go"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "shop")
			for _, f := range tc.files {
				f, content, _ := strings.Cut(filepath.Join(dir, f), ": ")
				if err := os.MkdirAll(filepath.Dir(f), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(f, []byte("package main\n\n"+content+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := mainpkg.Find(hosttest.New(t).Files, dir)
			if got != tc.want || (err == nil) != (tc.want != "") || err != nil && clierr.CodeOf(err) != clierr.CodeUsage {
				t.Errorf("%q, %v; want %q", got, err, tc.want)
			}
		})
	}
}
