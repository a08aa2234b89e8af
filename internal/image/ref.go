package image

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
)

// The grammar of references is that of the OCI distribution specification and
// of github.com/distribution/reference.
const (
	componentPattern = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	tagPattern       = `[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}`
	registryPattern  = `(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?`
	digestPattern    = `(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})`
)

var (
	registryRE   = lazy.Delayed(`^` + registryPattern + `$`)
	repositoryRE = lazy.Delayed(`^` + componentPattern + `(?:/` + componentPattern + `)*$`)
	tagRE        = lazy.Delayed(`^` + tagPattern + `$`)
	digestRE     = lazy.Delayed(`^` + digestPattern + `$`)
)

const refExample = "write it as registry/name:tag, for example ghcr.io/example/controller:v0.1.0"

// parts of a reference as written.
type refParts struct{ registry, repository, tag, digest string }

// split takes a reference apart without judging it. What stands before the
// first slash is a registry if it could not be part of a name.
func split(s string) refParts {
	var p refParts
	s, p.digest, _ = strings.Cut(s, "@")
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.Contains(s[i:], "/") {
		s, p.tag = s[:i], s[i:]
	}
	if first, rest, ok := strings.Cut(s, "/"); ok && (strings.ContainsAny(first, ".:") || first == "localhost") {
		p.registry, s = first, rest
	}
	p.repository = s
	return p
}

// IsExplicit reports whether s names a registry, a tag or a digest. What names
// none of them may as well be the path of a file.
func IsExplicit(s string) bool {
	p := split(s)
	return p.registry != "" || p.tag != "" || p.digest != ""
}

// join is the reverse of split.
func (p refParts) join() string {
	s := p.repository + p.tag
	if p.registry != "" {
		s = p.registry + "/" + s
	}
	if p.digest != "" {
		s += "@" + p.digest
	}
	return s
}

// Problem says what keeps s from being a reference; "" is nothing.
func Problem(s string) string {
	p := split(s)
	switch {
	case strings.Contains(s, "://"):
		return "it is a URL"
	case strings.TrimSpace(s) != s:
		return "it has leading or trailing spaces"
	case p.repository == "":
		return "the name is missing"
	case p.registry != "" && !registryRE.MatchString(p.registry):
		return fmt.Sprintf("%q is not a registry", p.registry)
	case p.repository != strings.ToLower(p.repository):
		return "a name must be lower case"
	case !repositoryRE.MatchString(p.repository):
		return fmt.Sprintf("%q is not a name: it has lower-case letters and digits, with '.', '_', '-' and '/' between them", p.repository)
	case p.tag == ":":
		return "the tag after ':' is missing"
	case p.tag != "" && !tagRE.MatchString(p.tag[1:]):
		return fmt.Sprintf("%q is not a tag: it has letters, digits, '_', '.' and '-', at most 128", p.tag[1:])
	case strings.Contains(s, "@") && !digestRE.MatchString(p.digest):
		return fmt.Sprintf("%q is not a digest: it is sha256: and 64 hexadecimal digits, or sha512: and 128", p.digest)
	}
	return ""
}

// correct is what s was probably meant to be, or "".
func correct(s string) string {
	s = strings.TrimSpace(s)
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	p := split(strings.TrimLeft(strings.TrimRight(s, "/:"), "/"))
	if p.tag == "" && p.digest != "" && !strings.Contains(p.digest, ":") {
		p.tag = ":" + p.digest // a version, as the go command takes it
	}
	p.digest = "" // a mistaken digest cannot be guessed
	p.repository = strings.ToLower(p.repository)
	p.repository = regexp.MustCompile(`[^a-z0-9._/-]+`).ReplaceAllString(p.repository, "-")
	p.repository = regexp.MustCompile(`[._-]*/+[._-]*`).ReplaceAllString(p.repository, "/")
	p.repository = strings.Trim(p.repository, "._-/")
	if p.tag != "" {
		p.tag = ":" + strings.TrimLeft(regexp.MustCompile(`[^A-Za-z0-9_.-]+`).ReplaceAllString(p.tag[1:], "-"), ".-")
	}
	fixed := p.join()
	if Problem(fixed) != "" {
		return ""
	}
	if _, err := name.ParseReference(fixed); err != nil {
		return ""
	}
	return fixed
}

// parseRef reads an image's name, with a tag or a digest. The error is a usage
// error that knows what was probably meant.
func parseRef(s string, opts ...name.Option) (name.Reference, error) {
	why := Problem(s)
	var ref name.Reference
	if why == "" {
		var err error
		if ref, err = name.ParseReference(s, opts...); err == nil {
			return ref, nil
		}
		p := split(s)
		switch _, err = name.NewRepository(p.repository); { // this error says more
		case err != nil:
			why = err.Error()
		case p.digest != "":
			why = "images can be read by sha256 digests only"
		default:
			why = "a name has 2 to 255 characters"
		}
	}
	hint := refExample
	if fixed := correct(s); fixed != "" && fixed != s {
		hint = fmt.Sprintf("did you mean %q?", fixed)
	}
	return nil, clierr.Usagef(hint, "%q is not an image's name: %s", s, why)
}

// parseTag reads the name of an image to make or look for in the
// store: with a tag, latest if there is none. Empty is DefaultName.
func parseTag(s string, opts ...name.Option) (name.Tag, error) {
	s = cmp.Or(s, DefaultName)
	ref, err := parseRef(s, opts...)
	if err != nil {
		return name.Tag{}, err
	}
	tag, ok := ref.(name.Tag)
	if !ok {
		return name.Tag{}, clierr.Usagef("did you mean \""+s[:strings.IndexByte(s, '@')]+"\"?", "%q names an image by its digest, which is only known after the build", s)
	}
	if split(s).tag == "" {
		return name.NewTag(s+":"+tag.TagStr(), opts...) // so that its text has a tag too
	}
	return tag, nil
}

// CheckName refuses what no image of the store can be named.
func CheckName(image string) error {
	_, err := parseTag(image)
	return err
}

// Split takes an image's name apart, which has a tag, a digest, both or neither.
func Split(s string) (name, tag, digest string, err error) {
	if _, err := parseRef(s); err != nil {
		return "", "", "", err
	}
	p := split(s)
	return refParts{registry: p.registry, repository: p.repository}.join(), strings.TrimPrefix(p.tag, ":"), p.digest, nil
}

// pushTarget reads the name that an image is pushed to. It must name a
// registry that the user can mean. example is what to type where it does not,
// with %[1]s for the name's last part and %[2]s for the whole.
func pushTarget(s string, useHTTP bool, example string) (name.Tag, error) {
	tag, err := parseTag(s, httpOption(useHTTP)...)
	if err != nil {
		return name.Tag{}, err
	}
	short := tag.RepositoryStr()[strings.LastIndexByte(tag.RepositoryStr(), '/')+1:] + ":" + tag.TagStr()
	switch {
	case split(s).registry == "localhost":
		return name.Tag{}, clierr.Usagef("add the port, as in localhost:5000/"+short, "%q names no registry's port", tag)
	case tag.RegistryStr() == name.DefaultRegistry && strings.HasPrefix(tag.RepositoryStr(), "library/"):
		return name.Tag{}, clierr.Usagef("name a registry and your account there: "+fmt.Sprintf(example, short, tag), "%q names no registry", tag)
	}
	return tag, nil
}

func httpOption(useHTTP bool) []name.Option {
	if useHTTP {
		return []name.Option{name.Insecure}
	}
	return nil
}
