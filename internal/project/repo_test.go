package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/example/mysdk/internal/project"
)

func TestDefaultRepo(t *testing.T) {
	for name, c := range map[string]struct {
		gomod, git, sub string
		link            string // what .git has in place of a directory
		inGopath        bool
		want, why       string
	}{
		"go.mod first":    {gomod: "module a.b/c // x\n", git: "https://github.com/x/y.git", want: "a.b/c", why: "from go.mod"},
		"git over https":  {git: "https://github.com/x/y.git", want: "github.com/x/y", why: "from the git remote"},
		"git over ssh":    {git: "git@github.com:x/y.git", want: "github.com/x/y", why: "from the git remote"},
		"git with port":   {git: "ssh://git@git.example.com:2222/x/y", want: "git.example.com/x/y", why: "from the git remote"},
		"git in a subdir": {git: "https://github.com/x/y", sub: "op", want: "github.com/x/y/op", why: "from the git remote"},
		"git to a folder": {git: "/srv/git/y.git", want: "example.com/shop", why: "from the domain and the directory"},
		"git to a file":   {git: "file:///srv/git/y.git", want: "example.com/shop", why: "from the domain and the directory"},
		"git worktree":    {git: "https://github.com/x/y.git", link: "gitdir: ../repo/.git/worktrees/shop\n", want: "github.com/x/y", why: "from the git remote"},
		"git submodule":   {git: "https://github.com/x/y.git", link: "gitdir: ../repo/.git\n", sub: "op", want: "github.com/x/y/op", why: "from the git remote"},
		"git to nowhere":  {link: "gitdir: ../gone\n", want: "example.com/shop", why: "from the domain and the directory"},
		"below GOPATH":    {inGopath: true, want: "github.com/z/shop", why: "from the place below GOPATH"},
		"nothing":         {want: "example.com/shop", why: "from the domain and the directory"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "shop")
			if c.inGopath {
				dir = filepath.Join(root, "src", "github.com", "z", "shop")
			}
			write := func(name, data string) {
				if data == "" {
					return
				}
				p := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("go.mod", c.gomod)
			write(".git", c.link)
			config := ".git/config"
			if c.link != "" {
				config = "../repo/.git/config"
				write("../repo/.git/worktrees/shop/commondir", "../..\n")
			}
			if c.git != "" {
				write(config, "[core]\n\tbare = false\n[remote \"other\"]\n\turl = https://gitlab.com/no/no\n[remote \"origin\"]\n\turl = "+c.git+"\n")
			}
			repo, why := project.DefaultRepo(filepath.Join(dir, c.sub), "example.com", root)
			if repo != c.want || why != c.why {
				t.Errorf("got %q %s, want %q %s", repo, why, c.want, c.why)
			}
		})
	}
}
