package bundle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

func TestAnnotationsKeepExtras(t *testing.T) {
	_, extra, err := Annotations("a.yaml", []byte(someAnnotations+"  com.redhat.openshift.versions: v4.12\n  note: 'a: b'\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"com.redhat.openshift.versions": "v4.12", "note": "a: b"}, extra); diff != "" {
		t.Error(diff)
	}
	m := Metadata{Package: "shop", Channels: []string{"alpha"}, Extra: extra, Comments: AnnotationComments([]byte("# Copyright me.\n\n---\nannotations:\n  # Added by hand.\n  # why\n  # and how\n  com.redhat.openshift.versions: v4.12\n  note: 'a: b' # hm\n"))}
	data, err := m.Annotations()
	if want := "\n  # Added by hand.\n  # why\n  # and how\n  com.redhat.openshift.versions: v4.12\n  # hm\n  note: 'a: b'\n"; !strings.HasPrefix(string(data), "# Copyright me.\n\n---\nannotations:\n") || !strings.HasSuffix(string(data), want) {
		t.Errorf("comments: %s", data)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, problems, err := Read(dir(AnnotationsFile, string(data)))
	if err != nil || b.Package != "shop" || b.Annotations["note"] != "a: b" || b.DefaultChannel != "" {
		t.Errorf("%v, %v: %s", problems, err, data)
	}
	for key := range b.Annotations {
		if strings.Contains(key, ".test.") {
			t.Errorf("%s, and there is no scorecard configuration", key)
		}
	}
	if _, _, err := Annotations("a.yaml", []byte("annotations: [")); err == nil || !strings.Contains(err.Error(), "a.yaml:1") {
		t.Errorf("broken annotations: %v", err)
	}
}

func TestDockerfile(t *testing.T) {
	m := Metadata{Package: "shop", Channels: []string{"alpha", "beta"}, DefaultChannel: "beta", Scorecard: true, Extra: map[string]string{"note": "two words"}}
	old := `FROM scratch
# Core bundle labels.
LABEL operators.operatorframework.io.bundle.package.v1=before
LABEL note=old
LABEL com.example.team="me"
COPY old/manifests /manifests/
COPY LICENSE /licenses/
COPY LICENSE /licenses/
`
	want := `FROM scratch

# The package, its channels, and where things are.
LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=shop
LABEL operators.operatorframework.io.bundle.channels.v1=alpha,beta
LABEL operators.operatorframework.io.bundle.channel.default.v1=beta
LABEL operators.operatorframework.io.metrics.mediatype.v1=metrics+v1
LABEL operators.operatorframework.io.metrics.builder=mysdk
LABEL operators.operatorframework.io.metrics.project_layout=unknown

# The tests of the bundle.
LABEL operators.operatorframework.io.test.mediatype.v1=scorecard+v1
LABEL operators.operatorframework.io.test.config.v1=tests/scorecard/

# Copied from annotations.yaml.
LABEL note="two words"

# The bundle.
COPY out/bundle/manifests /manifests/
COPY out/bundle/metadata /metadata/
COPY out/bundle/tests/scorecard /tests/scorecard/

LABEL com.example.team="me"
COPY LICENSE /licenses/
`
	got := m.Dockerfile("out/bundle", []byte(old))
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(string(got), string(m.Dockerfile("out/bundle", got))); diff != "" {
		t.Errorf("a second run: %s", diff)
	}
}

// TestDockerfileOwnLines: an instruction is kept whole or not at all, and of a
// LABEL the pairs that are the author's.
func TestDockerfileOwnLines(t *testing.T) {
	const head = "FROM scratch\n"
	for name, tt := range map[string]struct{ old, want string }{
		"continued":         {head + "LABEL com.a=1 \\\n      com.b=\"two words\"\n", "LABEL com.a=1 \\\n      com.b=\"two words\"\n"},
		"continued, ours":   {head + "LABEL operators.operatorframework.io.bundle.package.v1=before \\\n  com.b='two words' note=x\n", "LABEL com.b='two words'\n"},
		"all ours":          {head + "LABEL operators.operatorframework.io.bundle.package.v1=before \\\n  note=x\n", ""},
		"on one line":       {head + "LABEL com.a=1 operators.operatorframework.io.bundle.package.v1=before com.b=a\\ b\n", "LABEL com.a=1 com.b=a\\ b\n"},
		"old form":          {head + "LABEL note two words\nLABEL com.a two words\n", "LABEL com.a two words\n"},
		"a comment between": {head + "LABEL com.a=1 \\\n  # why\n  com.b=2\n", "LABEL com.a=1 \\\n  # why\n  com.b=2\n"},
		"copied":            {head + "# Copied from annotations.yaml.\nLABEL gone=x\n\nLABEL com.a=1\n", "LABEL com.a=1\n"},
		"copied, commented": {head + "# Copied from annotations.yaml.\nLABEL gone=x\n# mine\nLABEL com.a=1\n", "# mine\nLABEL com.a=1\n"},
		"added by hand":     {head + "# Added by hand.\nLABEL stays=x\n", "LABEL stays=x\n"},
		"a copy of several": {head + "COPY \\\n  bundle/manifests /manifests/\nCOPY a b /licenses/\n", "COPY a b /licenses/\n"},
		"why":               {head + "# not this\n\n# why\n# and how\nLABEL com.a=1\nLABEL com.b=1\n# The bundle.\nCOPY bundle/manifests /manifests/\nCOPY a b /licenses/\n", "# why\n# and how\nLABEL com.a=1\nLABEL com.b=1\nCOPY a b /licenses/\n"},
		"one more manifest": {head + "COPY --chmod=0644 bundle/manifests/ /manifests/\nCOPY deploy/extra.yaml /manifests/\n", "COPY deploy/extra.yaml /manifests/\n"},
		"a label alike":     {head + "LABEL operators.operatorframework.io.custom=x\n", "LABEL operators.operatorframework.io.custom=x\n"},
		"unclosed":          {head + "LABEL com.a=\"x\n", "LABEL com.a=\"x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := Metadata{Package: "shop", Channels: []string{"alpha"}, Extra: map[string]string{"note": "y"}}
			got := m.Dockerfile("bundle", []byte(tt.old))
			want := string(m.Dockerfile("bundle", nil))
			if tt.want != "" {
				want += "\n" + tt.want
			}
			if d := cmp.Diff(want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(string(got), string(m.Dockerfile("bundle", got))); d != "" {
				t.Errorf("a second run: %s", d)
			}
		})
	}
}

// TestDockerfileHead: what stands before FROM, such as a licence, stays.
func TestDockerfileHead(t *testing.T) {
	const head = "# syntax=docker/dockerfile:1\n\n# Copyright me.\n"
	m := Metadata{Package: "shop", Channels: []string{"alpha"}}
	plain := string(m.Dockerfile("bundle", nil))
	if d := cmp.Diff(head+plain, string(m.Dockerfile("bundle", []byte(head+plain)))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestDockerfileFollows: the label of an annotation goes with it.
func TestDockerfileFollows(t *testing.T) {
	m := Metadata{Package: "shop", Channels: []string{"alpha"}, Extra: map[string]string{"note": "y", "team": "me"}}
	before := m.Dockerfile("bundle", nil)
	delete(m.Extra, "note")
	if d := cmp.Diff(string(m.Dockerfile("bundle", nil)), string(m.Dockerfile("bundle", before))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestOwnStages(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                       false,
		"FROM scratch\nLABEL a=b\n":              false,
		"# FROM golang\nfrom scratch\n":          false,
		"FROM golang AS build\nFROM scratch\n":   true,
		"FROM scratch\nCOPY a b\nFROM scratch\n": true,
		"FROM scratch AS bundle\n":               true,
		"FROM \\\n  golang\n":                    true,
	} {
		if got := OwnStages([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestAnnotationOfLines: no LABEL can hold a line break.
func TestAnnotationOfLines(t *testing.T) {
	_, _, err := Annotations("a.yaml", []byte("annotations:\n  note: a\n  com.x: |\n    a\n    b\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:3:10: the annotation com.x has a line break") || clierr.HintOf(err) == "" {
		t.Errorf("error %v", err)
	}
}

// TestDockerfileKept: a Dockerfile beside annotations that stay says the same.
func TestDockerfileKept(t *testing.T) {
	kept, err := KeptMetadata("a.yaml", []byte(someAnnotations+"  note: x\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := string(kept.Dockerfile("bundle", nil))
	for _, want := range []string{
		"LABEL operators.operatorframework.io.bundle.package.v1=shop\n", "LABEL operators.operatorframework.io.bundle.channels.v1=\"alpha, stable\"\n",
		"LABEL operators.operatorframework.io.bundle.channel.default.v1=stable\n", "LABEL note=x\n", "COPY bundle/manifests /manifests/\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	for _, no := range []string{"metrics", "scorecard"} {
		if strings.Contains(got, no) {
			t.Errorf("%s, which the annotations do not have:\n%s", no, got)
		}
	}
}

func TestLock(t *testing.T) {
	want := map[string]string{"a:v1": "sha256:aa", "b:v1": "sha256:bb"}
	data, err := WriteLock(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadLock(data, "lock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"images: [", "imags: {}", "images: {a: [b]}"} {
		if _, err := ReadLock([]byte(text), "lock.yaml"); err == nil || !strings.Contains(err.Error(), "lock.yaml") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestRelatedImages(t *testing.T) {
	deployment := func(name, containers string) string {
		return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: " + name + "}, spec: {template: {spec: {containers: [" + containers + "]}}}}"
	}
	for name, c := range map[string]struct {
		objects string
		all     bool
		want    string
		err     string
	}{
		"none": {objects: deployment("a", "{name: m, image: 'm:1'}"), want: ""},
		"all":  {objects: deployment("a", "{name: m, image: 'm:1', env: [{name: RELATED_IMAGE_DB, value: 'db:1'}]}"), all: true, want: "db=db:1 m=m:1"},
		"the same in two": {objects: deployment("a", "{name: m, env: [{name: RELATED_IMAGE_DB, value: 'db:1'}]}") + "\n---\n" + deployment("b", "{name: m, env: [{name: RELATED_IMAGE_DB, value: 'db:1'}]}"),
			want: "db=db:1"},
		"two of one name": {objects: deployment("a", "{name: m, env: [{name: RELATED_IMAGE_DB, value: 'db:1'}]},{name: n}") + "\n---\n" + deployment("b", "{name: m, env: [{name: RELATED_IMAGE_DB, value: 'db:2'}]}"),
			want: "a-m-db=db:1 b-db=db:2"},
		"one name thrice": {objects: deployment("a", "{name: db, image: 'm:1', env: [{name: RELATED_IMAGE_DB, value: 'db:1'}, {name: RELATED_IMAGE_DB, value: 'db:2'}]}"), all: true,
			want: "a-db=db:1 a-db-2=db:2 a-db-3=m:1"},
		"numbered name taken": {objects: deployment("a", "{name: db, env: [{name: RELATED_IMAGE_DB, value: 'db:1'}, {name: RELATED_IMAGE_DB, value: 'db:2'}, {name: RELATED_IMAGE_A_DB_2, value: 'x:1'}]}"),
			want: "a-db=db:1 a-db-3=db:2 a-db-2=x:1"},
		"two names of one": {objects: deployment("a", "{name: m, env: [{name: RELATED_IMAGE_A, value: 'db:1'},{name: RELATED_IMAGE_B, value: 'db:1'}]}"), want: "a=db:1"},
		"valueFrom":        {objects: deployment("a", "{name: m, env: [{name: RELATED_IMAGE_A, valueFrom: {fieldRef: {}}}]}"), err: "Deployment a: RELATED_IMAGE_A has a valueFrom"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := relatedImages(parse(t, c.objects), c.all)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range list {
				got = append(got, textAt(o, "name")+"="+textAt(o, "image"))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImages(t *testing.T) {
	objects := parse(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {initContainers: [{image: 'i:1'}], containers: [{image: 'b:1', env: [{name: RELATED_IMAGE_X, value: 'x:1'}, {name: Y, value: 'y:1'}]}, {image: 'b:1'}, {image: 'c@sha256:aa'}]}}}}"+
		"\n---\n{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a.v1, annotations: {containerImage: 'z:1'}}, spec: {relatedImages: [{image: 'r:1'}]}}")
	if diff := cmp.Diff([]string{"b:1", "i:1", "r:1", "x:1", "z:1"}, Images(objects)); diff != "" {
		t.Error(diff)
	}
}
