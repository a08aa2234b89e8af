package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const scaffoldedManager = `kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: manager
        args:
        - --leader-elect
`

// TestManager holds what the container of the operator takes over.
func TestManager(t *testing.T) {
	const head = "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: manager\n        args:\n        - --leader-elect\n"
	for name, test := range map[string]struct{ scaffold, container, want string }{
		"nothing": {scaffoldedManager + "        env: []\n", "name: op\n", head + "        env: []\n"},
		"variable, without a list": {
			scaffoldedManager, "name: op\nenv:\n- name: A\n  value: b\n", head + "        env:\n        - name: A\n          value: b\n",
		},
		"a variable that is there": {
			scaffoldedManager + "        env:\n        - name: A\n          value: x\n", "name: op\nenv:\n- name: A\n  value: b\n",
			head + "        env:\n        - name: A\n          value: b\n",
		},
		"zap's arguments": {
			scaffoldedManager + "        env: []\n", "name: op\ncommand: [op, --zap-level=debug]\nargs: [--zap-devel]\n",
			head + "        - --zap-log-level=debug\n        - --zap-devel\n        env: []\n",
		},
		"value apart": {
			scaffoldedManager + "        env: []\n", "name: op\nargs: [--zap-encoder, json]\n", head + "        - --zap-encoder=json\n        env: []\n",
		},
		"argument of the user's": {
			scaffoldedManager + "        env: []\n", "name: op\nargs: [--delay=1s, --other]\n",
			head + "        - --delay=1s\n        # TODO(migrate): the new main program has no such argument: add it to cmd/main.go, or remove it here\n        - --other\n        env: []\n",
		},
		"resources": {
			scaffoldedManager + "        env: []\n", "name: op\nresources:\n  limits:\n    cpu: 1\n", head + "        env: []\n        resources:\n          limits:\n            cpu: 1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &migration{out: map[string]output{}}
			m.put(managerPath, []byte(test.scaffold))
			m.put(newMain, []byte(`flag.Duration("delay", 0, "")`))
			text := "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {containers: [BOX]}}}\n"
			var c yaml.Node
			if err := yaml.Unmarshal([]byte(test.container), &c); err != nil {
				t.Fatal(err)
			}
			list, err := readObjects("deploy/operator.yaml", []byte(strings.Replace(text, "BOX", value(c.Content[0]), 1)))
			if err != nil {
				t.Fatal(err)
			}
			if m.manager(list[0]); m.err != nil {
				t.Fatal(m.err)
			}
			var want, got any
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal(m.out[managerPath].data, &got); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(m.out[managerPath].data), todoMark); n != strings.Count(test.want, todoMark) {
				t.Errorf("%d marks:\n%s", n, m.out[managerPath].data)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s\n%s", d, m.out[managerPath].data)
			}
		})
	}
}

func TestOwnContainer(t *testing.T) {
	text := "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: proxy\n      - name: op\n        env:\n        - name: WATCH_NAMESPACE\n"
	for text, want := range map[string]string{text: "op", strings.Replace(text, "WATCH", "OTHER", 1): "proxy"} {
		list, err := readObjects("operator.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := scalar(list[0].ownContainer(), "name"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
