package cluster

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// withKubeconfig gives h a cluster dev that was started once.
func withKubeconfig(t *testing.T, h host.Host) state.Layout {
	t.Helper()
	l, err := layoutOf(h, "dev")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, l.Kubeconfig(), ours)
	return l
}

func TestKubeconfig(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	if _, _, err := Kubeconfig(h, "dev"); err == nil || clierr.HintOf(err) != "run 'mysdk cluster start --cluster dev' first" {
		t.Errorf("Kubeconfig() of no cluster = %v, hint %q", err, clierr.HintOf(err))
	}
	l := withKubeconfig(t, h)
	path, content, err := Kubeconfig(h, "dev")
	if err != nil || path != l.Kubeconfig() || string(content) != ours {
		t.Errorf("Kubeconfig() = %s, %q, %v", path, content, err)
	}
	if _, _, err := Kubeconfig(h, "../dev"); clierr.CodeOf(err) != clierr.CodeUsage {
		t.Errorf("Kubeconfig() of a bad name = %v, want exit code 2", err)
	}
}

func TestMergeKubeconfigFindsTheUsersFile(t *testing.T) {
	tests := map[string]struct {
		kubeconfig []string // in KUBECONFIG, below the home directory
		exist      []string
		want       string
	}{
		"none yet":                 {nil, nil, ".kube/config"},
		"the default":              {nil, []string{".kube/config"}, ".kube/config"},
		"named":                    {[]string{"a"}, []string{".kube/config", "a"}, "a"},
		"named, not there":         {[]string{"a"}, nil, "a"},
		"in a new directory":       {[]string{"new/dir/a"}, nil, "new/dir/a"},
		"first that exists":        {[]string{"a", "b", "c"}, []string{"b", "c"}, "b"},
		"none exists, so the last": {[]string{"a", "b"}, nil, "b"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{}
			h := testHost(t, &fakeExec{}, env)
			withKubeconfig(t, h)
			var list []string
			for _, f := range tc.kubeconfig {
				list = append(list, filepath.Join(h.Dir, f))
			}
			getenv := h.Getenv
			h.Getenv = func(k string) string {
				if k == "KUBECONFIG" {
					return strings.Join(list, string(os.PathListSeparator))
				}
				return getenv(k)
			}
			for _, f := range tc.exist {
				writeFile(t, filepath.Join(h.Dir, f), theirs)
			}
			want := filepath.Join(h.Dir, filepath.FromSlash(tc.want))
			got, err := MergeKubeconfig(h, "dev")
			if err != nil || got != want {
				t.Fatalf("MergeKubeconfig() = %s, %v, want %s", got, err, want)
			}
			data, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			current := "mysdk-dev" // of a file that begins with it
			if slices.Contains(tc.exist, tc.want) {
				current = "work"
			}
			if d := decode(t, data); d.Current != current {
				t.Errorf("current context = %q, want %q", d.Current, current)
			}
			if left, err := filepath.Glob(want + ".*"); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

func TestMergeKubeconfigKeepsModeAndLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes and links are those of Unix")
	}
	h := testHost(t, &fakeExec{}, nil)
	withKubeconfig(t, h)
	link, target := filepath.Join(h.Dir, ".kube", "config"), filepath.Join(h.Dir, "dotfiles", "config")
	writeFile(t, target, theirs)
	if err := os.Chmod(target, 0o660); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := MergeKubeconfig(h, "dev"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	info, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o660 {
		t.Errorf("mode = %o, want 660", info.Mode().Perm())
	}
	data, err := os.ReadFile(target)
	if err != nil || !strings.Contains(string(data), "mysdk-dev") {
		t.Errorf("the target holds %q, %v", data, err)
	}
}

// TestMergeKubeconfigLeavesTheChoice of the current context, whichever file has it.
func TestMergeKubeconfigLeavesTheChoice(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	h := testHost(t, &fakeExec{}, map[string]string{"KUBECONFIG": file + string(os.PathListSeparator) + other})
	withKubeconfig(t, h)
	writeFile(t, other, theirs)
	for name, old := range map[string]string{"empty": "", "without contexts": "kind: Config\n"} {
		writeFile(t, file, old)
		if _, err := MergeKubeconfig(h, "dev"); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := decode(t, data); d.Current != "" || len(d.Contexts) != 1 {
			t.Errorf("%s: the file now holds\n%s", name, data)
		}
	}
}

// TestOthersInTheClustersFile: what tools write to KUBECONFIG is neither handed out
// as the cluster's nor lost with it.
func TestOthersInTheClustersFile(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	l := withKubeconfig(t, h)
	if kept, err := KeepOthers(h, "dev"); kept != nil || err != nil {
		t.Errorf("KeepOthers() of nothing = %s, %v", kept, err)
	}
	both, err := mergeKubeconfig([]byte(theirs), []byte(ours), "mysdk-dev", true)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, l.Kubeconfig(), string(both))
	_, data, err := Kubeconfig(h, "dev")
	if d := decode(t, data); err != nil || d.Current != "mysdk-dev" || len(d.Contexts) != 1 || len(d.Users) != 1 {
		t.Errorf("Kubeconfig() = %v\n%s", err, data)
	}
	writeFile(t, l.Kubeconfig()+".broken", "a: [")
	kept, err := KeepOthers(h, "dev")
	if err != nil || len(kept) != 2 {
		t.Fatal(kept, err)
	}
	if data, err := os.ReadFile(kept[0]); err != nil || cmp.Diff(load(t, theirs), load(t, string(data))) != "" {
		t.Errorf("kept in %s is %v\n%s", kept[0], err, data)
	}
	if data, err := os.ReadFile(kept[1]); string(data) != "a: [" {
		t.Errorf("kept in %s is %v\n%s", kept[1], err, data)
	}
	for _, want := range []bool{true, false} {
		if taken, err := TakeCurrent(h, "dev"); taken != want || err != nil {
			t.Error(taken, err)
		}
	}
	if data, err = os.ReadFile(l.Kubeconfig()); decode(t, data).Current != "mysdk-dev" || len(decode(t, data).Contexts) != 2 {
		t.Errorf("%v, the file now holds\n%s", err, data)
	}
	two := string(both) + "---\nkind: Config\n"
	writeFile(t, l.Kubeconfig(), two)
	if taken, err := TakeCurrent(h, "dev"); taken || err != nil {
		t.Errorf("TakeCurrent() of two documents: %v, %v", taken, err)
	}
	if kept, err = KeepOthers(h, "dev"); err != nil || len(kept) == 0 {
		t.Fatal(kept, err)
	} else if data, err = os.ReadFile(kept[0]); string(data) != two {
		t.Errorf("of two documents %s is kept, %v", data, err)
	}
	for _, without := range []string{theirs, ours[:strings.Index(ours, "contexts:")]} {
		writeFile(t, l.Kubeconfig(), without)
		if _, _, err := Kubeconfig(h, "dev"); err == nil || !strings.Contains(clierr.HintOf(err), "mysdk cluster start --cluster dev") {
			t.Errorf("Kubeconfig() without its context: %v", err)
		}
	}
}

// TestUnmergeKubeconfig: a reset takes out of every file what merges put there,
// and leaves a stranger of the same name.
func TestUnmergeKubeconfig(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	one, two, theirOwn, missing := filepath.Join(h.Dir, "one"), filepath.Join(h.Dir, "two"), filepath.Join(h.Dir, "three"), filepath.Join(h.Dir, "four")
	getenv, list := h.Getenv, one
	h.Getenv = func(k string) string {
		if k == "KUBECONFIG" {
			return list
		}
		return getenv(k)
	}
	if changed, err := UnmergeKubeconfig(h, "dev"); changed != nil || err != nil {
		t.Errorf("of a cluster that never was: %v, %v", changed, err)
	}
	l := withKubeconfig(t, h)
	writeFile(t, one, theirs)
	if _, err := MergeKubeconfig(h, "dev"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, two, ours)
	stranger := strings.ReplaceAll(ours, "Q0E=", "WA==")
	writeFile(t, theirOwn, stranger)
	list = strings.Join([]string{one, two, theirOwn, missing, l.Kubeconfig()}, string(os.PathListSeparator))
	changed, err := UnmergeKubeconfig(h, "dev")
	if err != nil || !slices.Equal(changed, []string{one, two}) {
		t.Fatalf("changed %v, %v", changed, err)
	}
	for file, want := range map[string]string{one: "work", two: "", theirOwn: "mysdk-dev", l.Kubeconfig(): "mysdk-dev"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := decode(t, data)
		if d.Current != want || strings.Contains(string(data), "mysdk-dev") != (want == "mysdk-dev") {
			t.Errorf("%s:\n%s", file, data)
		}
		if file == one && (len(d.Clusters) != 1 || len(d.Users) != 1 || len(d.Contexts) != 1) {
			t.Errorf("what else was there is gone:\n%s", data)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a file was made")
	}
	writeFile(t, l.OwnKubeconfig(), ours)
	writeFile(t, l.Kubeconfig(), "a: [")
	if _, err := UnmergeKubeconfig(h, "dev"); err != nil {
		t.Errorf("of a cluster whose file for users is broken: %v", err)
	}
}

// TestOwnKubeconfigBehindALink: where the state directory is reached by a link, the
// cluster's own file is still none of the user's.
func TestOwnKubeconfigBehindALink(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	l := withKubeconfig(t, h)
	link := filepath.Join(t.TempDir(), "state")
	if err := os.Symlink(filepath.Dir(filepath.Dir(filepath.Dir(l.Dir))), link); err != nil {
		t.Skip(err)
	}
	linked := testHost(t, &fakeExec{}, map[string]string{"MYSDK_STATE_DIR": filepath.Join(link, "state"), "KUBECONFIG": l.Kubeconfig()})
	if changed, err := UnmergeKubeconfig(linked, "dev"); len(changed) != 0 || err != nil {
		t.Errorf("UnmergeKubeconfig() changed %q, %v", changed, err)
	}
}

// TestStartRefreshesWhatWasMerged: the context that mysdk put into the user's
// kubeconfig follows the cluster, with its namespace; no other does.
func TestStartRefreshesWhatWasMerged(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	one, theirOwn, broken := filepath.Join(h.Dir, "one"), filepath.Join(h.Dir, "their-own"), filepath.Join(h.Dir, "broken")
	getenv, list := h.Getenv, one
	h.Getenv = func(k string) string {
		if k == "KUBECONFIG" {
			return list
		}
		return getenv(k)
	}
	l := withKubeconfig(t, h)
	writeFile(t, one, theirs)
	if _, err := MergeKubeconfig(h, "dev"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	merged := strings.Replace(string(data), "namespace: default", "namespace: mine", 1)
	writeFile(t, one, merged)
	stranger := strings.ReplaceAll(ours, "Q0E=", "WA==")
	writeFile(t, theirOwn, stranger)
	writeFile(t, broken, "a: [")
	list = strings.Join([]string{one, theirOwn, broken, l.Kubeconfig()}, string(os.PathListSeparator))
	writeFile(t, l.Kubeconfig(), strings.NewReplacer("20001", "20002", "Q0E=", "TkVX").Replace(ours))
	var said []string
	refreshMerged(h, l, Options{Name: "dev", Progress: func(s string) { said = append(said, s) }}, []byte(ours))
	for file, want := range map[string]string{one: strings.NewReplacer("20001", "20002", "Q0E=", "TkVX").Replace(merged), theirOwn: stranger} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", file, err, got)
		}
	}
	if all := strings.Join(said, "\n"); len(said) != 2 || !strings.Contains(all, one+" follows") ||
		!strings.Contains(all, "run 'mysdk cluster kubeconfig --cluster dev --merge'") {
		t.Errorf("said:\n%s", all)
	}
	said = nil
	writeFile(t, l.Kubeconfig()+".broken", "b: [")
	tellBroken(h, l, Options{Name: "dev", Progress: func(s string) { said = append(said, s) }}, []byte("b: ["))
	if len(said) != 1 || !strings.Contains(said[0], l.Kubeconfig()+".broken") {
		t.Errorf("of a file that was broken: %q", said)
	}
}

func TestMergeKubeconfigRefuses(t *testing.T) {
	h := testHost(t, &fakeExec{}, nil)
	l := withKubeconfig(t, h)
	broken, other := filepath.Join(h.Dir, "broken"), filepath.Join(filepath.Dir(l.Dir), "other", "kubeconfig")
	writeFile(t, broken, "a: [")
	stranger := filepath.Join(h.Dir, "stranger")
	writeFile(t, stranger, strings.ReplaceAll(ours, "Q0E=", "WA=="))
	writeFile(t, other, strings.ReplaceAll(ours, "mysdk-dev", "mysdk-other"))
	for name, tc := range map[string]struct{ kubeconfig, want string }{
		"the cluster's own file": {l.Kubeconfig(), "an embedded cluster's own file"},
		"another cluster's file": {other, "an embedded cluster's own file"},
		"a stranger's file":      {stranger, "mysdk-dev already exists in its clusters and belongs to another cluster"},
		"a broken file":          {broken, "change " + broken},
		"a directory":            {h.Dir, "read your kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			x := h
			x.Getenv = func(k string) string {
				if k == "KUBECONFIG" {
					return tc.kubeconfig
				}
				return h.Getenv(k)
			}
			_, err := MergeKubeconfig(x, "dev")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("MergeKubeconfig() = %v, want an error with %q", err, tc.want)
			}
			if hint := clierr.HintOf(err); strings.Contains(hint, "delete-context") != (tc.kubeconfig == stranger) {
				t.Errorf("hint %q", hint)
			}
		})
	}
	if data, err := os.ReadFile(broken); err != nil || string(data) != "a: [" {
		t.Errorf("the broken file now holds %q, %v", data, err)
	}
}
