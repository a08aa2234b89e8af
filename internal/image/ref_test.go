package image

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/registry"
)

func TestParseTag(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "docker.io/library/controller:latest",
		"controller":                   "docker.io/library/controller:latest",
		"controller:v0.1.0":            "docker.io/library/controller:v0.1.0",
		"me/controller":                "docker.io/me/controller:latest",
		"ghcr.io/me/operator:v1_2.3-x": "ghcr.io/me/operator:v1_2.3-x",
		"localhost:5000/a__b/c-d.e:x":  "localhost:5000/a__b/c-d.e:x",
		"127.0.0.1:5000/op":            "127.0.0.1:5000/op:latest",
		"registry.example:443/a/b/c":   "registry.example:443/a/b/c:latest",
	} {
		tag, err := parseTag(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := canonical(tag); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
		if !strings.Contains(tag.String(), ":"+tag.TagStr()) {
			t.Errorf("%q is written as %q, without its tag", in, tag)
		}
	}
}

func TestBadReferences(t *testing.T) {
	for in, want := range map[string]struct{ text, hint string }{
		"Controller:latest":                     {"a name must be lower case", `did you mean "controller:latest"?`},
		"ghcr.io/Me/Op:v1":                      {"a name must be lower case", `did you mean "ghcr.io/me/op:v1"?`},
		"https://ghcr.io/me/op:v1":              {"it is a URL", `did you mean "ghcr.io/me/op:v1"?`},
		"docker://op:v1":                        {"it is a URL", `did you mean "op:v1"?`},
		" op:v1":                                {"it has leading or trailing spaces", `did you mean "op:v1"?`},
		"op:v1.0.0+build.5":                     {`"v1.0.0+build.5" is not a tag`, `did you mean "op:v1.0.0-build.5"?`},
		"op:":                                   {"the tag after ':' is missing", `did you mean "op"?`},
		"op/:v1":                                {`"op/" is not a name`, `did you mean "op:v1"?`},
		"my op:v1":                              {`"my op" is not a name`, `did you mean "my-op:v1"?`},
		"ghcr.io//op":                           {`"/op" is not a name`, `did you mean "ghcr.io/op"?`},
		"ghcr.io/me..you/op":                    {`"me..you/op" is not a name`, refExample},
		"ghcr.io:port/op":                       {`"ghcr.io:port" is not a registry`, refExample},
		":v1":                                   {"the name is missing", refExample},
		"op@sha256:123":                         {`"sha256:123" is not a digest`, `did you mean "op"?`},
		"op@sha512:" + strings.Repeat("0", 128): {"images can be read by sha256 digests only", `did you mean "op"?`},
		"op@v1":                                 {`"v1" is not a digest`, `did you mean "op:v1"?`},
		"op:v1@v2":                              {`"v2" is not a digest`, `did you mean "op:v1"?`},
		"op@":                                   {`"" is not a digest`, `did you mean "op"?`},
		"op:" + strings.Repeat("v", 129):        {"is not a tag", refExample},
		"x":                                     {"repository must be between 2 and 255 characters", refExample},
		strings.Repeat("a/", 200) + "name":      {"repository must be between 2 and 255", refExample},
	} {
		_, err := parseTag(in)
		if err == nil {
			t.Errorf("%q is accepted", in)
			continue
		}
		if !strings.Contains(err.Error(), want.text) || clierr.HintOf(err) != want.hint || clierr.CodeOf(err) != clierr.CodeUsage {
			t.Errorf("%q: %v, hint %q, code %d\nwant %q, hint %q", in, err, clierr.HintOf(err), clierr.CodeOf(err), want.text, want.hint)
		}
	}
	digest := "ghcr.io/me/op@sha256:" + strings.Repeat("0", 64)
	if _, err := parseTag(digest); clierr.HintOf(err) != `did you mean "ghcr.io/me/op"?` {
		t.Errorf("a digest: %v, hint %q", err, clierr.HintOf(err))
	}
	if why := Problem("op@sha512:" + strings.Repeat("0", 128)); why != "" {
		t.Errorf("a digest that others may use: %s", why)
	}
	if _, err := parseRef(digest); err != nil {
		t.Errorf("a digest names a base: %v", err)
	}
}

func TestPushTarget(t *testing.T) {
	for in, hint := range map[string]string{
		"ghcr.io/me/op:v1":     "",
		"me/op:v1":             "",
		"localhost:5000/op:v1": "",
		"controller:latest":    "name a registry and your account there: mysdk image push ghcr.io/you/controller:latest --image controller:latest",
		"localhost/me/op:v1":   "add the port, as in localhost:5000/op:v1",
		"docker.io/op":         "name a registry and your account there: mysdk image push ghcr.io/you/op:latest --image docker.io/op:latest",
	} {
		_, err := pushTarget(in, false, "mysdk image push ghcr.io/you/%[1]s --image %[2]s")
		if got := clierr.HintOf(err); got != hint || (err == nil) != (hint == "") {
			t.Errorf("%q: %v, hint %q, want %q", in, err, got, hint)
		}
		if CheckPush(in) == nil != (hint == "") {
			t.Errorf("CheckPush(%q) thinks otherwise", in)
		}
	}
}

// FuzzParseRef: nothing panics, what is accepted means the same when written
// out, and what is suggested is accepted.
func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"", "op", "a/b:c", "Ghcr.io/X:1+2", "https://x/y", "op@sha256:", "[::1]:5000/op", "localhost/op", "a..b", ":", "/", "x:y/z@w"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := parseRef(s)
		if err != nil {
			if clierr.CodeOf(err) != clierr.CodeUsage || clierr.HintOf(err) == "" {
				t.Errorf("%q: %v is no usage error with a hint", s, err)
			}
		} else if again, err := name.ParseReference(ref.Name()); err != nil || again.Name() != ref.Name() {
			t.Errorf("%q is %q, which is %v (%v)", s, ref.Name(), again, err)
		}
		if fixed := correct(s); fixed != "" {
			if _, err := parseRef(fixed); err != nil {
				t.Errorf("%q is suggested for %q: %v", fixed, s, err)
			}
		}
		if strings.ContainsAny(registry.FileKey(s), `/\:`) {
			t.Errorf("%q is no name for a directory", registry.FileKey(s))
		}
	})
}
