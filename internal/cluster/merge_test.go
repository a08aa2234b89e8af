package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// ours is a kubeconfig as a control plane writes it.
const ours = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Q0E=
    server: https://127.0.0.1:20001
  name: mysdk-dev
contexts:
- context:
    cluster: mysdk-dev
    namespace: default
    user: mysdk-dev
  name: mysdk-dev
current-context: mysdk-dev
kind: Config
users:
- name: mysdk-dev
  user:
    client-certificate-data: Q0VSVA==
    client-key-data: S0VZ
`

// theirs is a user's kubeconfig with what must not be lost.
const theirs = `apiVersion: v1
kind: Config
preferences: {colors: true}
current-context: work
clusters:
- name: work
  cluster:
    server: https://work.example.com
    certificate-authority: pki/ca.crt
contexts:
- name: work
  context: {cluster: work, user: me, extensions: [{name: editor, extension: {color: red}}]}
users:
- name: me
  user:
    exec: {command: ./login, apiVersion: client.authentication.k8s.io/v1}
extensions:
- name: editor
  extension: {tabs: 2}
`

// decoded is a kubeconfig as far as these tests look at it.
type decoded struct {
	Current  string `yaml:"current-context"`
	Clusters []struct {
		Name    string            `yaml:"name"`
		Cluster map[string]string `yaml:"cluster"`
	} `yaml:"clusters"`
	Contexts []struct {
		Name string `yaml:"name"`
	} `yaml:"contexts"`
	Users []struct {
		Name string         `yaml:"name"`
		User map[string]any `yaml:"user"`
	} `yaml:"users"`
}

func decode(t *testing.T, data []byte) decoded {
	t.Helper()
	var d decoded
	if err := yaml.Unmarshal(data, &d); err != nil {
		t.Fatalf("%v in:\n%s", err, data)
	}
	return d
}

func TestMergeKeepsTheUsersContent(t *testing.T) {
	merged, err := mergeKubeconfig([]byte(theirs), []byte(ours), "mysdk-dev", true)
	if err != nil {
		t.Fatal(err)
	}
	want, own := load(t, theirs), load(t, ours)
	want.Clusters["mysdk-dev"], want.AuthInfos["mysdk-dev"], want.Contexts["mysdk-dev"] = own.Clusters["mysdk-dev"], own.AuthInfos["mysdk-dev"], own.Contexts["mysdk-dev"]
	if d := cmp.Diff(want, load(t, string(merged))); d != "" {
		t.Errorf("kubeconfig (-want +got):\n%s", d)
	}
	back, err := unmergeKubeconfig(merged, []byte(ours), "mysdk-dev")
	if d := cmp.Diff(load(t, theirs), load(t, string(back))); err != nil || d != "" {
		t.Errorf("the way back: %v (-want +got):\n%s", err, d)
	}
}

func load(t *testing.T, data string) *api.Config {
	t.Helper()
	config, err := clientcmd.Load([]byte(data))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, data)
	}
	return config
}

func TestMergeAgainChangesOnlyWhatIsNew(t *testing.T) {
	once, err := mergeKubeconfig([]byte(theirs), []byte(ours), "mysdk-dev", true)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := mergeKubeconfig(once, []byte(ours), "mysdk-dev", true)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(once), string(twice)); d != "" {
		t.Errorf("second merge (-first +second):\n%s", d)
	}
	moved := strings.ReplaceAll(ours, "20001", "20002")
	third, err := mergeKubeconfig(twice, []byte(moved), "mysdk-dev", true)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(string(twice), "20001", "20002"); want != string(third) {
		t.Errorf("merge of another port (-want +got):\n%s", cmp.Diff(want, string(third)))
	}
	// What the user has made of the context stays.
	own := strings.Replace(string(third), "namespace: default", "namespace: mine", 1)
	if got, err := mergeKubeconfig([]byte(own), []byte(moved), "mysdk-dev", true); err != nil || own != string(got) {
		t.Errorf("merge over another namespace: %v (-want +got):\n%s", err, cmp.Diff(own, string(got)))
	}
}

func TestMergeIntoEmptyOrBareFiles(t *testing.T) {
	for name, old := range map[string]string{
		"empty": "", "comment only": "# nothing\n", "null": "null\n", "empty mapping": "{}\n",
		"null lists": "clusters: null\nusers:\ncontexts: ~\n", "empty lists": "clusters: []\nusers: []\ncontexts: []\n",
	} {
		t.Run(name, func(t *testing.T) {
			merged, err := mergeKubeconfig([]byte(old), []byte(ours), "mysdk-dev", true)
			if err != nil {
				t.Fatal(err)
			}
			got, want := decode(t, merged), decode(t, []byte(ours))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("kubeconfig (-want +got):\n%s", d)
			}
		})
	}
}

func TestMergeRefuses(t *testing.T) {
	tests := map[string]struct{ old, add, want string }{
		"no YAML":             {"a: [", ours, "yaml"},
		"a list":              {"- a\n", ours, "cannot unmarshal array"},
		"a word":              {"hello\n", ours, "cannot unmarshal string"},
		"two of one name":     {"users:\n- {name: a, user: {token: secret}}\n- {name: a}\n", ours, `duplicate name "a"`},
		"two documents":       {"a: 1\n---\nb: 2\n", ours, "more than one"},
		"another document":    {"a: 1\n---\nb: [\n", ours, "more than one"},
		"clusters no list":    {"kind: Config\nclusters: {a: 1}\n", ours, "field Config.clusters"},
		"of another kind":     {"kind: List\n", ours, `no kind "List"`},
		"other context":       {theirs, strings.ReplaceAll(ours, "mysdk-dev", "x"), "the cluster's kubeconfig has no mysdk-dev"},
		"another cluster":     {strings.ReplaceAll(ours, "Q0E=", "WA=="), ours, "mysdk-dev already exists in its clusters and belongs to another cluster"},
		"without a CA":        {strings.ReplaceAll(theirs, "name: work", "name: mysdk-dev"), ours, "mysdk-dev already exists in its clusters and belongs to another cluster"},
		"another context":     {strings.Replace(theirs, "name: work\n  context", "name: mysdk-dev\n  context", 1), ours, "mysdk-dev already exists in its contexts and belongs to another cluster"},
		"cluster's is empty":  {theirs, "", "has no mysdk-dev"},
		"cluster's is broken": {theirs, "{", "the cluster's kubeconfig"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := mergeKubeconfig([]byte(tc.old), []byte(tc.add), "mysdk-dev", true)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("mergeKubeconfig() = %s, %v, want an error with %q", got, err, tc.want)
			}
		})
	}
}

// FuzzMerge holds that a merge gives YAML with our context in it and keeps
// every other entry, or is an error; and that the way back takes it out.
func FuzzMerge(f *testing.F) {
	for _, seed := range []string{
		theirs, ours, "", "{}", "clusters: [{name: a}]", "clusters: [1, null, {name: mysdk-dev}, {name: [x]}]",
		"? [a]\n: b\n", "a: &a {b: *a}", "clusters: !!binary x", "current-context: {a: b}\n", "<<: {clusters: []}\n", "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, old string) {
		merged, err := mergeKubeconfig([]byte(old), []byte(ours), "mysdk-dev", true)
		if err != nil {
			return
		}
		after := load(t, string(merged))
		back, err := unmergeKubeconfig(merged, []byte(ours), "mysdk-dev")
		if err != nil || back == nil {
			t.Fatalf("no way back from:\n%s\n%v", merged, err)
		}
		if after.Clusters["mysdk-dev"] == nil || after.AuthInfos["mysdk-dev"] == nil || after.Contexts["mysdk-dev"] == nil {
			t.Fatalf("no entry of ours in:\n%s", merged)
		}
		want, left := load(t, old), load(t, string(back))
		delete(want.Clusters, "mysdk-dev")
		delete(want.AuthInfos, "mysdk-dev")
		delete(want.Contexts, "mysdk-dev")
		if d := cmp.Diff([]any{want.Clusters, want.AuthInfos, want.Contexts}, []any{left.Clusters, left.AuthInfos, left.Contexts}); d != "" {
			t.Fatalf("entries of others (-want +got):\n%s", d)
		}
	})
}
