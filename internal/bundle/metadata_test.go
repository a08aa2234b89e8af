package bundle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnnotationsKeepExtras(t *testing.T) {
	extra, err := ExtraAnnotations("a.yaml", []byte(someAnnotations+"  com.redhat.openshift.versions: v4.12\n  note: 'a: b'\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"com.redhat.openshift.versions": "v4.12", "note": "a: b"}, extra); diff != "" {
		t.Error(diff)
	}
	m := Metadata{Package: "shop", Channels: []string{"alpha"}, Extra: extra}
	data, err := m.Annotations()
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
	if _, err := ExtraAnnotations("a.yaml", []byte("annotations: [")); err == nil || !strings.Contains(err.Error(), "a.yaml:1") {
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

# Added by hand.
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
