package image

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/example/mysdk/internal/clierr"
)

func TestParsePlatforms(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want []string
	}{
		"none is this machine's": {nil, []string{"linux/" + runtime.GOARCH}},
		"two":                    {[]string{"linux/amd64", "linux/arm64"}, []string{"linux/amd64", "linux/arm64"}},
		"repeats and space":      {[]string{"linux/arm64", " linux/arm64/v8 "}, []string{"linux/arm64"}},
		"variants":               {[]string{"linux/arm", "linux/arm/v6"}, []string{"linux/arm/v7", "linux/arm/v6"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := parsePlatforms(c.in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range list {
				got = append(got, platformName(p))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestUnknownPlatforms(t *testing.T) {
	for in, want := range map[string]string{
		"amd64":         `did you mean "linux/amd64"?`,
		"linux/x86_64":  `did you mean "linux/amd64"?`,
		"aarch64":       `did you mean "linux/arm64"?`,
		"linux/amd46":   `did you mean "linux/amd64"?`,
		"Linux/AMD64":   `did you mean "linux/amd64"?`,
		"windows/amd64": `did you mean "linux/amd64"?`,
		"darwin/arm64":  `did you mean "linux/arm64"?`,
		"linux/armhf":   `did you mean "linux/arm/v7"?`,
	} {
		_, err := parsePlatforms([]string{in})
		if clierr.HintOf(err) != want || clierr.CodeOf(err) != clierr.CodeUsage {
			t.Errorf("%s: %v, hint %q, want %q", in, err, clierr.HintOf(err), want)
		}
	}
	if _, err := parsePlatforms([]string{""}); err == nil {
		t.Error("an empty platform is accepted")
	}
}

func TestRunsOn(t *testing.T) {
	p := func(os, arch, variant string) v1.Platform {
		return v1.Platform{OS: os, Architecture: arch, Variant: variant}
	}
	for name, c := range map[string]struct {
		have, want v1.Platform
		ok         bool
	}{
		"same":            {p("linux", "amd64", ""), p("linux", "amd64", ""), true},
		"arm64 is v8":     {p("linux", "arm64", "v8"), p("linux", "arm64", ""), true},
		"variant unnamed": {p("linux", "arm", ""), p("linux", "arm", "v7"), true},
		"other variant":   {p("linux", "arm", "v6"), p("linux", "arm", "v7"), false},
		"other arch":      {p("linux", "arm", ""), p("linux", "arm64", ""), false},
		"other system":    {p("windows", "amd64", ""), p("linux", "amd64", ""), false},
	} {
		if got := runsOn(c.have, c.want); got != c.ok {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestPick: the variant that was asked for goes before one that would do.
func TestPick(t *testing.T) {
	of := func(platforms ...v1.Platform) *v1.IndexManifest {
		m := &v1.IndexManifest{Manifests: []v1.Descriptor{{}}}
		for _, p := range platforms {
			m.Manifests = append(m.Manifests, v1.Descriptor{Platform: &p})
		}
		return m
	}
	index := of(
		v1.Platform{OS: "unknown", Architecture: "unknown"},
		v1.Platform{OS: "linux", Architecture: "amd64", Variant: "v3"}, v1.Platform{OS: "linux", Architecture: "amd64"},
		v1.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"},
	)
	for in, want := range map[string]string{"linux/amd64": "linux/amd64", "linux/arm64": "linux/arm64/v8", "linux/386": ""} {
		found, have := pick(index, must(parsePlatform(in))(t))
		got := ""
		if found != nil {
			got = platformName(*found.Platform)
		}
		if got != want || platformNames(have) != "linux/amd64, linux/amd64/v3, linux/arm64/v8" {
			t.Errorf("%s: %q of %s, want %q", in, got, platformNames(have), want)
		}
	}
}

// childless is an index whose images must not be read.
type childless struct{ anyIndex }

type anyIndex = v1.ImageIndex // whose name is that of one of its methods

func (childless) Image(v1.Hash) (v1.Image, error) {
	return nil, errors.New("an image of the index is read")
}

// TestPlatformsOfContent: an entry of an index without a name for its platform is
// listed as such, and an image for an unknown system is for none.
func TestPlatformsOfContent(t *testing.T) {
	of := func(platforms ...v1.Platform) *content {
		var adds []mutate.IndexAddendum
		for _, p := range platforms {
			adds = append(adds, mutate.IndexAddendum{Add: empty.Image, Descriptor: v1.Descriptor{Platform: &p}})
		}
		return &content{index: childless{mutate.AppendManifests(empty.Index, adds...)}}
	}
	for name, c := range map[string]struct {
		content *content
		want    []Platform
	}{
		"unnamed":          {of(v1.Platform{}, v1.Platform{OS: "linux"}), []Platform{{}, {OS: "linux"}}},
		"unknown in index": {of(v1.Platform{OS: "unknown", Architecture: "unknown"}), nil},
		"unknown":          {&content{image: must(mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "unknown"}))(t)}, nil},
	} {
		if got, err := c.content.platforms(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestGoEnv(t *testing.T) {
	for in, want := range map[string][]string{
		"linux/amd64":  {"GOOS=linux", "GOARCH=amd64", "GOAMD64=v1"},
		"linux/arm/v6": {"GOOS=linux", "GOARCH=arm", "GOARM=6"},
		"linux/s390x":  {"GOOS=linux", "GOARCH=s390x"},
	} {
		if got := goEnv(must(parsePlatform(in))(t)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}
