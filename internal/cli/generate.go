package cli

import (
	"strconv"

	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/generate/calls"
)

// PlainOptions are what every run of the generators has in common.
func (f *Factory) PlainOptions() generate.Options {
	cache, err := f.Host.CacheDir()
	if err != nil {
		cache = "" // no home: nothing is remembered between runs
	}
	return generate.Options{
		Host: f.Host, Dir: f.Host.Dir, CacheDir: cache, ToolVersion: ThisBuild().Version,
		Year: strconv.Itoa(f.Host.Now().Year()), Judge: f.judgeCRDs,
	}
}

// GenerateOptions are those with what is the project's own, such as the options
// in its Makefile's calls of controller-gen, which are told once.
func (f *Factory) GenerateOptions() (generate.Options, error) {
	o := f.PlainOptions()
	found, err := calls.Into(&o)
	if err != nil {
		return o, err
	}
	for _, note := range found.Notes {
		f.once(f.Warn, note)
	}
	for _, c := range o.Calls {
		tell := f.Say
		if c.Configured() {
			tell = f.Detail
		}
		f.once(tell, "controller-gen as in "+c.From+": "+c.String())
	}
	return o, nil
}

// once prints a line that may come again, as each reload of a run would.
func (f *Factory) once(tell func(format string, args ...any), line string) {
	if !f.Told[line] {
		f.Told[line] = true
		tell("%s", line)
	}
}
