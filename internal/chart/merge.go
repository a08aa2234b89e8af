package chart

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/merge3"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

const (
	// BaseName is the file of a chart that has the chart as it was rendered
	// last: what the user has changed since is the difference to it.
	BaseName = ".mysdk.zip"
	// RejectSuffix ends the names of files with what could not be merged.
	RejectSuffix = ".rej"

	chartFile, valuesFile = "Chart.yaml", "values.yaml"
)

// Pack makes the base of a chart. The same files make the same base.
func Pack(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// Unpack reads what Pack has made.
func Unpack(data []byte) (map[string][]byte, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range r.File {
		if files[f.Name], err = fs.ReadFile(r, f.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return files, nil
}

// Plan is what becomes of a chart's directory.
type Plan struct {
	Write     map[string][]byte
	Remove    []string
	Conflicts []string // files whose changes met the user's; each has a reject
	Kept      []string // files of an earlier chart that the user changed, which nothing makes any longer
	Gone      []string // files that the user removed, which stay so
	Unread    []string // sections of the values of another tool's chart that have no meaning in this one

	reject func(name string, merged, wanted []byte) []byte
}

// Merge carries the change from the last chart to the one of now over to what is
// there. base is nil where mysdk has not written what is there; read returns a
// file's content, nil where there is none, and reject what is written beside a file
// for what could not be merged. With force the user's changes are
// lost, but for Chart.yaml, which has his versions, and for the values of a
// chart that is not mysdk's.
func Merge(base, now map[string][]byte, read func(name string) ([]byte, error), reject func(name string, merged, wanted []byte) []byte, force bool) (*Plan, error) {
	all := maps.Clone(now)
	maps.Copy(all, base)
	names := slices.Sorted(maps.Keys(all))
	mine := map[string][]byte{}
	for _, name := range names {
		for _, at := range []string{name, name + RejectSuffix} {
			data, err := read(at)
			if err != nil {
				return nil, err
			}
			if data != nil {
				mine[at] = data
			}
		}
	}
	p := &Plan{Write: map[string][]byte{}, reject: reject}
	if force {
		p.overwrite(names, now, mine)
		if base == nil && mine[valuesFile] != nil {
			if err := parses(valuesFile, mine[valuesFile]); err != nil {
				return nil, err
			}
			p.takeOver(mine[valuesFile], now[valuesFile], mine[chartFile])
		}
		return p, nil
	}
	if err := check(base, now, mine); err != nil {
		return nil, err
	}
	for _, name := range names {
		p.merge(name, base, now, mine)
	}
	return p, nil
}

func (p *Plan) overwrite(names []string, now, mine map[string][]byte) {
	for _, name := range names {
		switch {
		case now[name] == nil && mine[name] != nil:
			p.Remove = append(p.Remove, name)
		case now[name] != nil && (name != chartFile || mine[name] == nil):
			p.Write[name] = now[name]
		}
		if mine[name+RejectSuffix] != nil {
			p.Remove = append(p.Remove, name+RejectSuffix)
		}
	}
}

// check refuses what cannot be merged with.
func check(base, now, mine map[string][]byte) error {
	var other, rejects []string
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		switch {
		case strings.HasSuffix(name, RejectSuffix):
			rejects = append(rejects, name)
		case !bytes.Equal(mine[name], now[name]):
			other = append(other, name)
		}
	}
	switch {
	case len(rejects) > 0:
		return clierr.Failedf("take over what you want of it ('patch -p1 <DIR/FILE"+RejectSuffix+"' takes all) and remove it", "an earlier conflict is not resolved: %s", strings.Join(rejects, ", "))
	case base == nil && len(other) > 0:
		n := len(other)
		if n > 3 {
			other = append(other[:3], "...")
		}
		return clierr.Failedf("commit the chart, then add --force: it overwrites all but Chart.yaml and your values",
			"the chart there is not mysdk's, and %d files differ: %s", n, strings.Join(other, ", "))
	case base != nil && mine[chartFile] == nil:
		return clierr.Failedf("restore it from version control, or add --force to write the chart again", "the chart has no %s", chartFile)
	}
	return cmp.Or(parses(chartFile, mine[chartFile]), parses(valuesFile, mine[valuesFile]))
}

func (p *Plan) merge(name string, base, now, mine map[string][]byte) {
	is, was, own := now[name], base[name], mine[name]
	switch {
	case is == nil && own == nil, is != nil && bytes.Equal(is, own):
	case is == nil && bytes.Equal(was, own):
		p.Remove = append(p.Remove, name)
	case is == nil:
		p.Kept = append(p.Kept, name)
	case own == nil && was != nil:
		p.Gone = append(p.Gone, name)
	case own == nil, was != nil && bytes.Equal(was, own):
		p.Write[name] = is
	case was != nil && bytes.Equal(was, is):
	default:
		p.conflict(name, was, own, is)
	}
}

// conflict merges a file that both sides changed.
func (p *Plan) conflict(name string, was, own, is []byte) {
	as := name
	if strings.HasPrefix(name, "templates/") {
		as += ".tpl" // directives are no YAML: line by line
	}
	if name == valuesFile {
		was, is = indented(was, own), indented(is, own)
	}
	merged, wanted := own, is
	if was != nil { // else it is a file of the user's own
		merged, wanted = merge3.Merge(as, was, own, is)
	}
	if parses(name, own) == nil && parses(name, merged) != nil {
		merged, wanted = own, is
	}
	p.put(name, own, merged, wanted)
}

// put notes what a file becomes, and what of it the user has to decide.
func (p *Plan) put(name string, own, merged, wanted []byte) {
	if !bytes.Equal(merged, own) {
		p.Write[name] = merged
	}
	if !bytes.Equal(merged, wanted) {
		p.Conflicts = append(p.Conflicts, name)
		p.Write[name+RejectSuffix] = p.reject(name, merged, wanted)
	}
}

// parses says why a template or a mapping in YAML cannot be read.
func parses(name string, text []byte) error {
	if strings.HasPrefix(name, "templates/") {
		t := parse.New(name)
		t.Mode = parse.SkipFuncCheck
		_, err := t.Parse(string(text), "", "", map[string]*parse.Tree{})
		return err
	}
	const hint = "correct the file and run the command again"
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return clierr.Failedf(hint, "%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if _, ok := v.(map[string]any); !ok && v != nil {
		return clierr.Failedf(hint, "%s: it must have keys and values, as in 'a: b'", name)
	}
	return nil
}

// takeOver keeps the values of a chart that is not mysdk's, adds those that are
// new, and notes the sections that mysdk's templates do not read. Those of the
// charts that it depends on are none of them.
func (p *Plan) takeOver(own, is, chart []byte) {
	mine := modern(own, is)
	if head, rest, ok := bytes.Cut(is, []byte("\n\n")); ok && bytes.HasPrefix(head, []byte("#")) {
		is = rest // what it says is of the file
	}
	is = indented(is, mine)
	merged, _ := merge3.Merge(valuesFile, nil, mine, is)
	wanted := merged
	if !has(tree(merged), tree(is)) {
		wanted = is
	}
	delete(p.Write, valuesFile)
	p.put(valuesFile, own, merged, wanted)
	p.unread("", tree(mine), tree(is))
	p.Unread = slices.DeleteFunc(p.Unread, func(key string) bool { return key == "global" || bytes.Contains(chart, []byte(": "+key+"\n")) })
}

// unread notes the keys that only mine has: of the sections and of what is in
// them.
func (p *Plan) unread(section string, mine, is any) {
	all, _ := mine.(map[string]any)
	known, _ := is.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if value, there := known[key]; !there {
			p.Unread = append(p.Unread, section+key)
		} else if section == "" {
			p.unread(key+".", all[key], value)
		}
	}
}

// tree is what a text in YAML says, nil for one that cannot be read.
func tree(text []byte) (v any) {
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil
	}
	return v
}

// has says whether v has all keys of is, as far as both are mappings.
func has(v, is any) bool {
	want, _ := is.(map[string]any)
	mine, ok := v.(map[string]any)
	if !ok {
		return v != nil || len(want) == 0
	}
	for key, value := range want {
		if own, there := mine[key]; !there || !has(own, value) {
			return false
		}
	}
	return true
}

// indented returns values with the indentation of others, as far as they say
// the same then.
func indented(values, like []byte) []byte {
	step := indentation(like)
	if step == 0 || step == 2 {
		return values
	}
	var out bytes.Buffer
	for line := range bytes.Lines(values) {
		text := bytes.TrimLeft(line, " ")
		out.WriteString(strings.Repeat(" ", (len(line)-len(text))*step/2))
		if item, ok := bytes.CutPrefix(text, []byte("- ")); ok && bytes.ContainsRune(item, ':') { // more keys may follow
			out.WriteString("-" + strings.Repeat(" ", step-1))
			text = item
		}
		out.Write(text)
	}
	if !reflect.DeepEqual(tree(values), tree(out.Bytes())) {
		return values
	}
	return out.Bytes()
}

// indentation is how far the first section's keys are from the left, 0 for none.
func indentation(values []byte) int {
	var doc yaml.Node
	if err := yaml.Unmarshal(values, &doc); err != nil {
		return 0
	}
	for _, section := range doc.Content {
		for i := 1; i < len(section.Content); i += 2 {
			if n := section.Content[i]; n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 {
				return n.Content[0].Column - 1
			}
		}
	}
	return 0
}

// modern gives the values of a chart that an older kubebuilder has made the names
// of today: SECTION.enable is SECTION.enabled since 4.15, where the values of now
// have that, and rbacHelpers is rbac.helpers since 4.14. An image without a tag has
// that of Chart.yaml, as before. All else keeps its bytes.
func modern(values, now []byte) []byte {
	var doc yaml.Node
	sections, _ := tree(now).(map[string]any)
	if err := yaml.Unmarshal(values, &doc); err != nil || len(doc.Content) == 0 {
		return values
	}
	top, lines := doc.Content[0], strings.SplitAfter(string(values), "\n")
	step := strings.Repeat(" ", max(indentation(values), 1))
	for i := 1; i < len(top.Content); i += 2 {
		key, section := top.Content[i-1], top.Content[i]
		today, _ := sections[key.Value].(map[string]any)
		if _, ok := today["enabled"]; !ok && key.Value != "rbacHelpers" {
			continue
		}
		if at := yamledit.Index(section, "enable"); at > 0 && yamledit.Value(section, "enabled") == nil {
			line := &lines[section.Content[at-1].Line-1]
			*line = strings.Replace(*line, "enable", "enabled", 1)
		}
		if key.Value == "rbacHelpers" && yamledit.Value(top, "rbac") == nil {
			lines[key.Line-1] = strings.Replace(lines[key.Line-1], "rbacHelpers:", "rbac:\n"+step+"helpers:", 1)
			for n := key.Line; n < len(lines) && (strings.HasPrefix(lines[n], " ") || strings.TrimSpace(lines[n]) == ""); n++ {
				if strings.TrimSpace(lines[n]) != "" {
					lines[n] = step + lines[n]
				}
			}
		}
	}
	if image := yamledit.Lookup(top, "manager.image"); image != nil && image.Style&yaml.FlowStyle == 0 && len(image.Content) > 0 && yamledit.Value(image, "tag") == nil {
		first := image.Content[0]
		lines[first.Line-1] = strings.Repeat(" ", first.Column-1) + "tag: \"\"\n" + lines[first.Line-1]
	}
	return []byte(strings.Join(lines, ""))
}
