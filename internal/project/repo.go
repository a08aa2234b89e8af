package project

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// DefaultRepo finds a module path for a project in dir when none was given:
// the go.mod that is there, the git remote, the place below GOPATH, else the
// domain and the directory's name. why says in a few words which it was.
func DefaultRepo(dir, domain, gopath string) (repo, why string) {
	if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
		if p := modfile.ModulePath(data); p != "" {
			return p, "from go.mod"
		}
	}
	if p := gitModule(dir); p != "" && CheckRepo(p) == nil {
		return p, "from the git remote"
	}
	for _, root := range filepath.SplitList(gopath) {
		rel, err := filepath.Rel(filepath.Join(root, "src"), dir)
		if err == nil && rel != "." && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), "from the place below GOPATH"
		}
	}
	return path.Join(domain, cmp.Or(NameFromDir(dir), "operator")), "from the domain and the directory"
}

// gitModule makes a module path of the remote "origin" of the repository that
// dir is in, or returns "".
func gitModule(dir string) string {
	for top := dir; ; top = filepath.Dir(top) {
		own := linked(top, ".git", filepath.Join(top, ".git"))
		data, err := os.ReadFile(filepath.Join(linked(own, "commondir", own), "config"))
		if err == nil {
			rel, err := filepath.Rel(top, dir)
			base := remotePath(originURL(string(data)))
			if err != nil || base == "" {
				return ""
			}
			return path.Join(base, filepath.ToSlash(rel))
		}
		if !errors.Is(err, fs.ErrNotExist) || top == filepath.Dir(top) {
			return ""
		}
	}
}

// linked is the directory that a file in dir names, as git has them in a worktree and a
// submodule; none without such a file.
func linked(dir, file, none string) string {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return none
	}
	to := filepath.FromSlash(strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir:")))
	if filepath.IsAbs(to) {
		return to
	}
	return filepath.Join(dir, to)
}

// originURL finds the url of the remote "origin" in git's configuration.
func originURL(config string) string {
	inOrigin := false
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inOrigin = line == `[remote "origin"]`
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && inOrigin && strings.TrimSpace(key) == "url" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// remotePath turns https://host/path.git, ssh://git@host:22/path and
// git@host:path into host/path; anything else, such as a directory, into "".
func remotePath(url string) string {
	rest := strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		if scheme == "file" {
			return ""
		}
		host, p, _ := strings.Cut(after, "/")
		return clean(host, p)
	}
	host, p, ok := strings.Cut(rest, ":")
	if !ok || strings.ContainsAny(host, `/\`) {
		return ""
	}
	return clean(host, p)
}

// clean takes the user and the port off a host and joins it with p.
func clean(host, p string) string {
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	host, _, _ = strings.Cut(host, ":")
	if !strings.Contains(host, ".") || p == "" {
		return ""
	}
	return path.Join(host, strings.TrimPrefix(p, "/"))
}
