package adopt

import (
	"bytes"
	"fmt"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/generate/calls"
	"github.com/example/mysdk/internal/relayout"
)

// generated renders code and manifests, and says what comes out differently and
// why.
func (in *inspection) generated(name string) (Command, error) {
	opts := in.Generate
	found, err := calls.Into(&opts)
	var config fileset.Set
	if err == nil {
		config, err = in.keepCalls(found, opts.Calls)
	}
	var r generate.Result
	if err == nil {
		r, err = generate.Render(in.ctx, opts)
	}
	if err == nil {
		r.Set, err = relayout.LF{Files: in.Host.Files}.Changed(r.Set, in.Dir)
	}
	switch {
	case in.ctx.Err() != nil:
		return Command{}, in.ctx.Err()
	case err != nil:
		in.failing = true
		return needs(name, "it would fail:", advice(err)...), nil
	}
	in.rendered = r.Set.Clone()
	in.safe = r.Set
	if err := in.safe.Merge(config); err != nil || in.rendered.Len() == 0 {
		return works(name, "the result is the same, byte for byte"), err
	}
	c := works(name, "1 file comes out differently:")
	if n := in.rendered.Len(); n > 1 {
		c = works(name, "%d files come out differently:", n)
	}
	for _, file := range in.rendered.Paths() {
		line, why, err := in.difference(file, in.safe)
		if err != nil {
			return c, err
		}
		c.Do = append(c.Do, fmt.Sprintf("%s:%d: %s", file, line, why))
		if found.Edited && !strings.HasPrefix(why, onlyVersion) {
			in.safe.Drop(file)
			continue
		}
		in.report.Changes = append(in.report.Changes, Change{file, "regenerate it: " + why})
	}
	return c, nil
}

// keepCalls reports the calls of controller-gen that the project makes, and
// writes those down that mysdk had to look for.
func (in *inspection) keepCalls(found calls.Found, used []generate.Call) (fileset.Set, error) {
	var set fileset.Set
	in.report.Notes = found.Notes
	for _, c := range used {
		in.report.ControllerGen = append(in.report.ControllerGen, ControllerGen{From: c.From, Dir: c.Dir, Args: c.String()})
	}
	if len(used) == 0 || used[0].Configured() {
		return set, nil
	}
	old, _, err := in.tree.Read(calls.File)
	if err != nil {
		return set, err
	}
	data, err := calls.Configure(old, used)
	if err != nil {
		return set, err
	}
	in.report.Changes = append(in.report.Changes, Change{calls.File, "keep the options of controller-gen from " + used[0].From})
	return set, set.Put(calls.File, fileset.File{Data: data})
}

// onlyVersion is a difference that no edit of generated files makes.
const onlyVersion = "only the version of controller-gen"

// difference says where a file begins to differ and what kind of difference
// it is.
func (in *inspection) difference(file string, set fileset.Set) (line int, why string, err error) {
	f, _ := set.Get(file)
	f.Data = bytes.ReplaceAll(f.Data, []byte("\r\n"), []byte("\n"))
	old, there, err := in.tree.Read(file)
	switch {
	case err != nil:
		return 0, "", err
	case f.Removed:
		return 1, "it is no longer generated", nil
	case !there:
		return 1, "it does not exist yet", nil
	}
	line, why = firstDifference(old, f.Data), "content"
	was, now := generatorLine.FindSubmatch(old), generatorLine.FindSubmatch(f.Data)
	if was != nil && now != nil && bytes.Equal(generatorLine.ReplaceAll(old, nil), generatorLine.ReplaceAll(f.Data, nil)) {
		why = fmt.Sprintf("%s (%s, now %s)", onlyVersion, was[1], now[1])
	}
	return line, why, nil
}

// generatorLine is the line of a manifest that names controller-gen's version.
var generatorLine = lazy.Delayed(`(?m)^ *controller-gen\.kubebuilder\.io/version: *(.*)$`)

// firstDifference counts lines from 1.
func firstDifference(a, b []byte) int {
	as, bs := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(as), len(bs)) {
		if !bytes.Equal(as[i], bs[i]) {
			return i + 1
		}
	}
	return min(len(as), len(bs)) + 1
}
