package cmd

import (
	"strconv"

	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/generate/calls"
)

// plainOptions are what every run of the generators has in common.
func (a *app) plainOptions() generate.Options {
	cache, err := a.host.CacheDir()
	if err != nil {
		cache = "" // no home: nothing is remembered between runs
	}
	return generate.Options{
		Host: a.host, Dir: a.host.Dir, CacheDir: cache, ToolVersion: thisBuild().Version,
		Year: strconv.Itoa(a.host.Now().Year()), Judge: a.judgeCRDs,
	}
}

// generateOptions are those with what is the project's own, such as the options
// in its Makefile's calls of controller-gen, which are told once.
func (a *app) generateOptions() (generate.Options, error) {
	o := a.plainOptions()
	found, err := calls.Into(&o)
	if err != nil {
		return o, err
	}
	for _, note := range found.Notes {
		a.once(a.warn, note)
	}
	for _, c := range o.Calls {
		tell := a.say
		if c.Configured() {
			tell = a.detail
		}
		a.once(tell, "controller-gen as in "+c.From+": "+c.String())
	}
	return o, nil
}

// once prints a line that may come again, as each reload of a run would.
func (a *app) once(tell func(format string, args ...any), line string) {
	if !a.told[line] {
		a.told[line] = true
		tell("%s", line)
	}
}
