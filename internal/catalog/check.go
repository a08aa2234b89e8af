package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/image"
)

// Check judges the catalog as a registry server does before it serves it, and
// tells everything that is wrong at once: packages and channels that are
// missing, bundles that stand nowhere, and in each channel the graph of what
// replaces what, which must lead from one newest bundle to all others.
func (c *Catalog) Check() error {
	k := &checker{catalog: c}
	k.packages()
	k.channels()
	k.bundles()
	k.deprecations()
	if len(k.problems) == 0 {
		return nil
	}
	return clierr.WithHint(fmt.Errorf("check the catalog: %w", errors.Join(k.problems...)), k.hint)
}

type checker struct {
	catalog  *Catalog
	problems []error
	hint     string // for the first problem that has one
}

func (k *checker) add(hint, format string, args ...any) {
	k.problems = append(k.problems, fmt.Errorf(format, args...))
	k.hint = cmp.Or(k.hint, hint)
}

// duplicates are the names that stand in a list more than once, sorted.
func duplicates(names []string) []string {
	slices.Sort(names)
	var twice []string
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			twice = append(twice, names[i])
		}
	}
	return slices.Compact(twice)
}

func (k *checker) packages() {
	var names []string
	for _, p := range k.catalog.Packages {
		names = append(names, p.Name)
		part := k.catalog.of(p.Name)
		if bad := validation.IsDNS1123Label(p.Name); len(bad) > 0 {
			k.add("", "%q cannot be the name of a package: %s", p.Name, bad[0])
		}
		switch {
		case len(part.Channels) == 0:
			k.add("", "the package %s has no channel", p.Name)
		case p.DefaultChannel == "":
			k.add("choose one with --default-channel", "the package %s has no default channel; its channels are %s", p.Name, channelNames(part.Channels))
		case !slices.ContainsFunc(part.Channels, func(ch Channel) bool { return ch.Name == p.DefaultChannel }):
			k.add("choose another with --default-channel", "the default channel of the package %s is %s, which it does not have; its channels are %s",
				p.Name, p.DefaultChannel, channelNames(part.Channels))
		}
	}
	for _, name := range duplicates(names) {
		k.add("", "the package %s is listed twice", name)
	}
}

func channelNames(list []Channel) string {
	var names []string
	for _, ch := range list {
		names = append(names, ch.Name)
	}
	return strings.Join(names, ", ")
}

func (k *checker) hasPackage(name string) bool {
	return slices.ContainsFunc(k.catalog.Packages, func(p Package) bool { return p.Name == name })
}

func (k *checker) channels() {
	var names []string
	for _, ch := range k.catalog.Channels {
		names = append(names, ch.Package+"/"+ch.Name)
		switch {
		case ch.Name == "":
			k.add("", "a channel of the package %s has no name", ch.Package)
		case !k.hasPackage(ch.Package):
			k.add("", "the channel %s is of the package %q, which is not in the catalog", ch.Name, ch.Package)
		}
		k.graph(ch)
		for _, e := range ch.Entries {
			if !slices.ContainsFunc(k.catalog.Bundles, func(b Bundle) bool { return b.Package == ch.Package && b.Name == e.Name }) {
				k.add("", "channel %s/%s: there is no bundle for its entry %s", ch.Package, ch.Name, e.Name)
			}
		}
	}
	for _, name := range duplicates(names) {
		k.add("", "the channel %s is listed twice", name)
	}
}

// bundles checks each bundle by itself, and then what may be there only once in a
// package: names, and versions with their releases.
func (k *checker) bundles() {
	names := map[string][]string{}    // by package
	versions := map[string][]string{} // by package and version
	for _, b := range k.catalog.Bundles {
		names[b.Package] = append(names[b.Package], b.Name)
		if !k.hasPackage(b.Package) {
			k.add("", "the bundle %s is of the package %q, which is not in the catalog", b.Name, b.Package)
		}
		if !slices.ContainsFunc(k.catalog.Channels, func(ch Channel) bool {
			return ch.Package == b.Package && slices.ContainsFunc(ch.Entries, func(e Entry) bool { return e.Name == b.Name })
		}) {
			k.add("", "the bundle %s is not in any channel of the package %s", b.Name, b.Package)
		}
		if b.Image == "" && !slices.ContainsFunc(b.Properties, func(p Property) bool { return p.Type == property.TypeBundleObject }) {
			k.add("", "the bundle %s has neither an image nor its objects", b.Name)
		}
		k.images(b)
		v, err := packageOf(b)
		if err != nil {
			k.add("", "the bundle %s: %w", b.Name, err)
			continue
		}
		at := b.Package + " " + v.Version
		if v.Release != "" {
			at += "-" + v.Release
			if want := fmt.Sprintf("%s-v%s-%s", b.Package, v.Version, v.Release); b.Name != want {
				k.add("rename it, or leave spec.release out of its CSV", "the bundle %s has the release %s, and must be named %s", b.Name, v.Release, want)
			}
		}
		versions[at] = append(versions[at], b.Name)
	}
	for _, pkg := range slices.Sorted(maps.Keys(names)) {
		for _, name := range duplicates(names[pkg]) {
			k.add("", "the bundle %s of the package %s is listed twice", name, pkg)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(versions)) {
		list := versions[at]
		if slices.Sort(list); len(slices.Compact(slices.Clone(list))) > 1 {
			k.add("give each bundle a spec.version of its own", "%s is the version of several bundles: %s", at, strings.Join(list, ", "))
		}
	}
}

// images checks the names of a bundle's images. A related image may have none, as in
// catalogs that are served.
func (k *checker) images(b Bundle) {
	names := []string{b.Image}
	for _, r := range b.RelatedImages {
		names = append(names, r.Image)
	}
	for _, name := range names {
		if why := image.Problem(name); name != "" && why != "" {
			k.add("", "the bundle %s has the image %q: %s", b.Name, name, why)
		}
	}
}

// packageOf is a bundle's one olm.package property.
func packageOf(b Bundle) (property.Package, error) {
	props, err := property.Parse(b.Properties)
	if err != nil {
		return property.Package{}, fmt.Errorf("its properties: %w", err)
	}
	if len(props.Packages) != 1 {
		return property.Package{}, fmt.Errorf("it has %d properties olm.package, and needs one", len(props.Packages))
	}
	v := props.Packages[0]
	if v.PackageName != b.Package {
		return v, fmt.Errorf("it is of the package %q, and its property olm.package says %q", b.Package, v.PackageName)
	}
	if _, err := semver.Parse(v.Version); err != nil {
		return v, fmt.Errorf("its version %q is not a semantic version: %w", v.Version, err)
	}
	return v, nil
}

func (k *checker) deprecations() {
	var packages []string
	for _, d := range k.catalog.Deprecations {
		packages = append(packages, d.Package)
		part := k.catalog.of(d.Package)
		if !k.hasPackage(d.Package) {
			k.add("", "deprecations of the package %q, which is not in the catalog", d.Package)
		}
		var refs []string
		for _, e := range d.Entries {
			refs = append(refs, fmt.Sprintf("%s %q", e.Reference.Schema, e.Reference.Name))
			if e.Message == "" {
				k.add("", "deprecations of the package %s: %s has no message", d.Package, refs[len(refs)-1])
			}
			if !part.refersTo(e.Reference) {
				k.add("", "deprecations of the package %s: there is no %s in it", d.Package, refs[len(refs)-1])
			}
		}
		for _, ref := range duplicates(refs) {
			k.add("", "deprecations of the package %s: %s is listed twice", d.Package, ref)
		}
	}
	for _, name := range duplicates(packages) {
		k.add("", "the deprecations of the package %s are listed twice", name)
	}
}

// refersTo reports whether the reference is to something of this package.
func (c *Catalog) refersTo(r Reference) bool {
	switch r.Schema {
	case SchemaPackage:
		return r.Name == ""
	case SchemaChannel:
		return slices.ContainsFunc(c.Channels, func(ch Channel) bool { return ch.Name == r.Name })
	case SchemaBundle:
		return slices.ContainsFunc(c.Bundles, func(b Bundle) bool { return b.Name == r.Name })
	}
	return false
}

// graph judges the graph of a channel by the rules of operator-registry: there is
// one head, which nothing replaces or skips; the chain of replaces that begins
// there reaches every entry that is not skipped; no bundle replaces itself, at
// whatever distance. The last of the chain may replace what is not there.
func (k *checker) graph(ch Channel) {
	add := func(hint, format string, args ...any) {
		k.add(hint, "channel %s/%s: %s", ch.Package, ch.Name, fmt.Sprintf(format, args...))
	}
	before := len(k.problems)
	var names []string
	for _, e := range ch.Entries {
		names = append(names, e.Name)
	}
	for _, name := range duplicates(names) {
		add("", "the entry %s is listed twice", name)
	}
	for _, e := range ch.Entries {
		if slices.Contains(e.Skips, "") {
			add("", "the entry %s skips one without a name", e.Name)
		}
		if _, err := semver.ParseRange(e.SkipRange); e.SkipRange != "" && err != nil {
			add(`write the annotation olm.skipRange like ">=1.0.0 <1.2.0"`,
				"%s: %q is not a range of versions: %v", e.Name, e.SkipRange, err)
		}
	}
	if len(k.problems) > before {
		return
	}
	switch heads := heads(ch); {
	case len(ch.Entries) == 0:
		add("", "it has no entries")
	case len(heads) == 0:
		add("correct spec.replaces or spec.skips of one of them",
			"there is no newest bundle, as each is replaced or skipped by another: %s", cycle(ch))
	case len(heads) > 1:
		add("set spec.replaces in the newer one's CSV, or let the versions decide with --mode semver",
			"there are several newest bundles, which nothing replaces: %s", strings.Join(heads, ", "))
	default:
		stranded, circle := ch.Stranded(heads[0])
		slices.Sort(stranded)
		if circle != nil {
			add("correct spec.replaces of one of them",
				"bundles replace each other in a circle: %s", strings.Join(circle, " -> "))
		} else if len(stranded) > 0 {
			add("let a newer bundle replace or skip it, or let the versions decide with --mode semver",
				"no chain of updates leads from %s to the newest bundle, %s", strings.Join(stranded, ", "), heads[0])
		}
	}
}

// heads are the entries that no other replaces or skips, sorted.
func heads(ch Channel) []string {
	var heads []string
	for _, e := range ch.Entries {
		if newer(ch, e.Name) < 0 {
			heads = append(heads, e.Name)
		}
	}
	slices.Sort(heads)
	return heads
}

// newer is the place of the first entry that replaces or skips one; -1 of none.
func newer(ch Channel, name string) int {
	return slices.IndexFunc(ch.Entries, func(e Entry) bool { return e.Replaces == name || slices.Contains(e.Skips, name) })
}

// Head is the newest bundle of the channel; "" where there is not exactly one.
func (ch Channel) Head() string {
	if list := heads(ch); len(list) == 1 {
		return list[0]
	}
	return ""
}

// Stranded are the entries from which OLM finds no way to the head: they are
// neither skipped nor in the chain of what replaces what, which begins there and
// ends at one that any entry skips. circle is where that chain meets itself.
func (ch Channel) Stranded(head string) (names, circle []string) {
	byName, skipped := map[string]Entry{}, map[string]bool{}
	for _, e := range ch.Entries {
		byName[e.Name] = e
		for _, s := range e.Skips {
			skipped[s] = true
		}
	}
	var path []string
	for at := head; at != ""; {
		i := slices.Index(path, at)
		path = append(path, at)
		if i >= 0 {
			circle = path[i:]
			break
		}
		e, ok := byName[at]
		if !ok || skipped[e.Replaces] {
			break
		}
		at = e.Replaces
	}
	for _, e := range ch.Entries {
		if !skipped[e.Name] && !slices.Contains(path, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names, circle
}

// cycle finds bundles that are each other's predecessors, for the message.
func cycle(ch Channel) string {
	var path []string
	// Everything here has a newer one, so walking up must come round.
	for at := ch.Entries[0].Name; ; at = ch.Entries[newer(ch, at)].Name {
		i := slices.Index(path, at)
		path = append(path, at)
		if i >= 0 {
			path = path[i:]
			slices.Reverse(path)
			return strings.Join(path, " -> ")
		}
	}
}
