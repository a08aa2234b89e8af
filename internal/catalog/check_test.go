package catalog

import (
	"strings"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
)

// entries makes a channel from lines "NAME [replaces] [skip,skip]".
func channelOf(lines ...string) Channel {
	ch := Channel{Schema: SchemaChannel, Name: "stable", Package: "p"}
	for _, l := range lines {
		f := append(strings.Split(l, " "), "", "")
		e := Entry{Name: f[0], Replaces: f[1]}
		if f[2] != "" {
			e.Skips = strings.Split(f[2], ",")
		}
		ch.Entries = append(ch.Entries, e)
	}
	return ch
}

// catalogOf is a catalog with the channel and a bundle for each entry.
func catalogOf(ch Channel) *Catalog {
	c := &Catalog{Packages: []Package{{Schema: SchemaPackage, Name: "p", DefaultChannel: "stable"}}, Channels: []Channel{ch}}
	for i, e := range ch.Entries {
		c.Bundles = append(c.Bundles, bundleOf(e.Name, "0.0."+string(rune('1'+i))))
	}
	return c
}

func bundleOf(name, version string) Bundle {
	return Bundle{Schema: SchemaBundle, Name: name, Package: "p", Image: "example.com/p:" + version, Properties: []Property{property.MustBuildPackage("p", version)}}
}

// TestCheckGraph judges graphs, and operator-registry must judge alike.
func TestCheckGraph(t *testing.T) {
	tests := map[string]struct {
		entries []string
		want    string // "" for a good one
	}{
		"one":                   {[]string{"a"}, ""},
		"chain":                 {[]string{"c b", "b a", "a"}, ""},
		"tail is elsewhere":     {[]string{"b a", "a zero"}, ""},
		"skipped without chain": {[]string{"c a b", "b", "a"}, ""},
		"skip of what is away":  {[]string{"c b zero", "b"}, ""},
		"replaces a skipped":    {[]string{"c b b", "b a", "a"}, "no chain of updates leads from a to the newest bundle, c"},
		"two heads":             {[]string{"b", "a"}, "several newest bundles, which nothing replaces: a, b"},
		"stranded":              {[]string{"d c", "c", "b d a", "a c"}, ""},
		"cycle":                 {[]string{"b a", "a b"}, "there is no newest bundle, as each is replaced or skipped by another: "},
		"itself":                {[]string{"a a"}, "a -> a"},
		"cycle below the head":  {[]string{"c b", "b a", "a b"}, "bundles replace each other in a circle: b -> a -> b"},
		"skips itself":          {[]string{"a b a"}, "no newest bundle"},
		"left behind":           {[]string{"c a", "b a", "a", "x b,c"}, "several newest bundles"},
		"chain cut by a skip":   {[]string{"d c", "c b b", "b a", "a"}, "no chain of updates leads from a to the newest bundle, d"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := catalogOf(channelOf(tt.entries...))
			err := c.Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			sameJudgement(t, c, err)
		})
	}
}

// sameJudgement asks operator-registry what it thinks of the catalog.
func sameJudgement(t *testing.T, c *Catalog, err error) {
	t.Helper()
	data, encodeErr := c.Encode(JSON)
	if encodeErr != nil {
		t.Fatal(encodeErr)
	}
	if _, theirErr := declcfg.ConvertToModel(*theirs(t, data)); (theirErr == nil) != (err == nil) {
		t.Errorf("we say %v, and operator-registry says %v", err, theirErr)
	}
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		change func(*Catalog)
		want   string
	}{
		"good":               {func(*Catalog) {}, ""},
		"no channel":         {func(c *Catalog) { c.Channels, c.Bundles = nil, nil }, "the package p has no channel"},
		"no default channel": {func(c *Catalog) { c.Packages[0].DefaultChannel = "" }, "the package p has no default channel; its channels are stable"},
		"default elsewhere":  {func(c *Catalog) { c.Packages[0].DefaultChannel = "fast" }, "the default channel of the package p is fast, which it does not have"},
		"package twice":      {func(c *Catalog) { c.Packages = append(c.Packages, c.Packages[0]) }, "the package p is listed twice"},
		"package name":       {func(c *Catalog) { c.Packages[0].Name = "P_p" }, `"P_p" cannot be the name of a package`},
		"channel twice":      {func(c *Catalog) { c.Channels = append(c.Channels, c.Channels[0]) }, "the channel p/stable is listed twice"},
		"entry twice":        {func(c *Catalog) { c.Channels[0].Entries = append(c.Channels[0].Entries, Entry{Name: "a"}) }, "the entry a is listed twice"},
		"no entries":         {func(c *Catalog) { c.Channels[0].Entries = nil }, "it has no entries"},
		"entry alone":        {func(c *Catalog) { c.Bundles = c.Bundles[:1] }, "there is no bundle for its entry a"},
		"bundle alone":       {func(c *Catalog) { c.Bundles = append(c.Bundles, bundleOf("z", "9.0.0")) }, "the bundle z is not in any channel"},
		"bundle twice":       {func(c *Catalog) { c.Bundles = append(c.Bundles, c.Bundles[0]) }, "the bundle b of the package p is listed twice"},
		"no image":           {func(c *Catalog) { c.Bundles[0].Image = "" }, "the bundle b has neither an image nor its objects"},
		"bad image":          {func(c *Catalog) { c.Bundles[0].Image = "Not An Image!!" }, `the bundle b has the image "Not An Image!!": a name must be lower case`},
		"bad related image":  {func(c *Catalog) { c.Bundles[0].RelatedImages = []RelatedImage{{}, {Image: "example.com/p: 1"}} }, `the bundle b has the image "example.com/p: 1": `},
		"short image":        {func(c *Catalog) { c.Bundles[0].Image = "p@sha256:" + strings.Repeat("0", 64) }, ""},
		"bad property": {func(c *Catalog) {
			c.Bundles[0].Properties = append(c.Bundles[0].Properties, Property{Type: property.TypeGVK, Value: []byte(`"Shop"`)})
		}, "the bundle b: its properties: "},
		"empty skip":  {func(c *Catalog) { c.Channels[0].Entries[0].Skips = []string{""} }, "channel p/stable: the entry b skips one without a name"},
		"no version":  {func(c *Catalog) { c.Bundles[0].Properties = nil }, "it has 0 properties olm.package"},
		"bad version": {func(c *Catalog) { c.Bundles[0] = bundleOf("b", "1") }, `its version "1" is not a semantic version`},
		"release's name": {func(c *Catalog) {
			c.Bundles[0].Properties[0].Value = []byte(`{"packageName":"p","version":"0.0.1","release":"2"}`)
		}, "must be named p-v0.0.1-2"},
		"same version":      {func(c *Catalog) { c.Bundles[0] = bundleOf("b", "0.0.2") }, "p 0.0.2 is the version of several bundles: a, b"},
		"other package":     {func(c *Catalog) { c.Bundles[0].Package = "q" }, `the bundle b is of the package "q", which is not in the catalog`},
		"channel's package": {func(c *Catalog) { c.Channels[0].Package = "q" }, `the channel stable is of the package "q"`},
		"deprecation": {func(c *Catalog) {
			c.Deprecations = []Deprecations{{Schema: SchemaDeprecations, Package: "p", Entries: []DeprecationEntry{{Reference: Reference{SchemaBundle, "a"}, Message: "old"}, {Reference: Reference{SchemaPackage, ""}, Message: "old"}}}}
		}, ""},
		"deprecated twice": {func(c *Catalog) {
			c.Deprecations = []Deprecations{{Schema: SchemaDeprecations, Package: "p", Entries: []DeprecationEntry{{Reference: Reference{SchemaBundle, "a"}, Message: "old"}, {Reference: Reference{SchemaBundle, "a"}, Message: "old"}}}}
		}, `deprecations of the package p: olm.bundle "a" is listed twice`},
		"deprecated silently": {func(c *Catalog) {
			c.Deprecations = []Deprecations{{Schema: SchemaDeprecations, Package: "p", Entries: []DeprecationEntry{{Reference: Reference{SchemaBundle, "a"}}}}}
		}, `deprecations of the package p: olm.bundle "a" has no message`},
		"deprecated nothing": {func(c *Catalog) {
			c.Deprecations = []Deprecations{{Schema: SchemaDeprecations, Package: "p", Entries: []DeprecationEntry{{Reference: Reference{SchemaChannel, "fast"}, Message: "old"}}}}
		}, `there is no olm.channel "fast" in it`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := catalogOf(channelOf("b a", "a"))
			tt.change(c)
			err := c.Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			sameJudgement(t, c, err)
		})
	}
}

func TestCheckSkipRange(t *testing.T) {
	c := catalogOf(channelOf("a"))
	for text, good := range map[string]bool{">=1.0.0 <1.2.0": true, "<0.1.0 || >1.0.0": true, "1.x": true, "everything": false, ">=1 <<2": false} {
		c.Channels[0].Entries[0].SkipRange = text
		if err := c.Check(); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
