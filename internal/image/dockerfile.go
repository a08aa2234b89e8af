package image

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/dockerfile"
)

// Recipe is what a Dockerfile says that puts files on nothing: FROM scratch,
// LABEL and COPY. No other instruction can be followed without a container
// runtime.
type Recipe struct {
	Labels map[string]string
	Copies []Copy
}

// Copy is a COPY instruction.
type Copy struct {
	From []string // paths relative to the context, clean; "." for all of it
	To   string   // path in the image without a leading slash; a directory's ends in one
	Line int      // in the Dockerfile, from 1
}

// ParseRecipe reads a Dockerfile. where is its name for errors, which have the
// line and say what the reason is.
func ParseRecipe(data []byte, where string) (*Recipe, error) {
	r := &Recipe{Labels: map[string]string{}}
	from := false
	for _, in := range dockerfile.Parse(data) {
		var err error
		switch in.Name {
		case "FROM":
			from = true
			if base, _, _ := strings.Cut(in.Args, " "); base != Scratch {
				err = fmt.Errorf("FROM %s: only an image FROM scratch can be made", in.Args)
			}
		case "LABEL":
			err = r.label(in.Args)
		case "COPY", "ADD":
			err = r.copy(in.Args, in.Line)
		default:
			err = fmt.Errorf("%s needs a container to run in", in.Name)
		}
		if err != nil {
			return nil, clierr.WithHint(fmt.Errorf("%s:%d: %w", where, in.Line, err), "keep to FROM scratch, LABEL and COPY, or build this file with a container tool")
		}
	}
	if !from {
		return nil, clierr.Failedf("begin it with FROM scratch", "%s: there is no FROM in it", where)
	}
	return r, nil
}

// Commands are what containers of an image that a Dockerfile makes may call its
// program: the path of an ENTRYPOINT of one word, as scaffolds have it, else
// every path of ENTRYPOINT and CMD and the name of every file that is copied.
// None says that nothing is known.
func Commands(data []byte) []string {
	var paths, names []string
	for _, in := range dockerfile.Parse(data) {
		all, err := dockerfile.Values(strings.NewReplacer("[", " ", "]", " ", ",", " ").Replace(in.Args))
		if err != nil {
			return nil
		}
		switch in.Name {
		case "FROM":
			paths, names = nil, nil // of the last stage only
		case "ENTRYPOINT", "CMD":
			for _, w := range all {
				if path.IsAbs(w) {
					paths = append(paths, path.Clean(w))
				}
			}
		case "COPY", "ADD":
			for _, w := range all {
				names = append(names, path.Base(w))
			}
		}
	}
	if len(paths) == 1 && paths[0] == entrypoint {
		return paths
	}
	return append(paths, names...)
}

// warnLeftOut warns of what only the Dockerfile puts into an image.
func (b *builder) warnLeftOut() {
	data, err := b.host.Files.ReadFile(filepath.Join(b.Dir, "Dockerfile"))
	if err != nil {
		return // there need not be one
	}
	for _, in := range dockerfile.Parse(data) {
		b.warnFlags(in)
	}
	for _, in := range leftOut(data) {
		why := "this is not in the image; set it in config/manager/manager.yaml"
		switch in.Name {
		case "COPY", "ADD":
			why = "the image has only the operator; if that needs these files, build the image with a container tool"
		case "RUN":
			why = "the image has only the operator; if that needs what this does, build the image with a container tool"
		case "USER":
			why = "the image runs as " + User + "; for another user, set runAsUser in config/manager/manager.yaml"
		case "STOPSIGNAL":
			why = "containers of the image get SIGTERM; if the operator needs this one, build the image with a container tool"
		case "LABEL":
			if b.labelled(in) {
				continue
			}
			why = "this is not in the image; set it with --label"
		case "ENTRYPOINT":
			if path.Base(plainWords(in)[0]) != path.Base(entrypoint) {
				why = "the image starts " + entrypoint + "; if it needs that, build the image with a container tool"
			}
		}
		b.warn("Dockerfile:%d: %s %s: %s", in.Line, in.Name, in.Args, why)
	}
}

// warnFlags warns of what only the Dockerfile's go build is told. -s and -w are ours, too.
func (b *builder) warnFlags(in dockerfile.Instruction) {
	_, args, _ := strings.Cut(in.Args, "go build ")
	words, err := dockerfile.Values(args)
	if in.Name != "RUN" || err != nil {
		return
	}
	for i, w := range words {
		if strings.Trim(w, "&|;") == "" {
			return // the end of the command
		}
		flag, value, assigned := strings.Cut(w, "=")
		if !assigned && i+1 < len(words) {
			value = words[i+1]
		}
		var instead string
		switch {
		case flag == "-ldflags" && b.GoLDFlags == "" && strings.Trim(value, "-sw ") != "":
			instead = "with --go-ldflags"
		case flag == "-tags" && !strings.Contains(b.host.Getenv("GOFLAGS"), "-tags"):
			instead = "in the environment variable GOFLAGS"
		default:
			continue
		}
		b.warn("Dockerfile:%d: go build %s %s: the operator is compiled without this; set it %s", in.Line, flag, value, instead)
	}
}

// labelled reports whether --label sets all labels of an instruction.
func (b *builder) labelled(in dockerfile.Instruction) bool {
	r := Recipe{Labels: map[string]string{}}
	err := r.label(in.Args)
	maps.DeleteFunc(r.Labels, func(key, _ string) bool { _, set := b.labels[key]; return set })
	return err == nil && len(r.Labels) == 0
}

// leftOut are the instructions of a Dockerfile's last stage that have an effect on
// the image, other than to copy the program and start it as an image without a
// Dockerfile does.
func leftOut(data []byte) []dockerfile.Instruction {
	var list []dockerfile.Instruction
	compiles := false
	all := dockerfile.Parse(data)
	there := programs(all)
	for _, in := range all {
		words := plainWords(in)
		left := false
		switch in.Name {
		case "FROM":
			list, compiles = nil, false
		case "ENV", "LABEL":
			left = true
		case "USER":
			left = !slices.Contains([]string{User, "65532", "nonroot", "nonroot:nonroot"}, in.Args)
		case "WORKDIR":
			left = in.Args != "/"
		case "STOPSIGNAL":
			left = !slices.Contains([]string{"SIGTERM", "TERM", "15"}, in.Args)
		case "ENTRYPOINT", "CMD":
			left = len(words) > 1 || in.Name == "CMD" && len(words) == 1 && !path.IsAbs(words[0])
		case "RUN":
			if strings.Contains(in.Args, "go build") { // what the stage has so far are sources, and for the compiler
				list, compiles = nil, true
			}
			left = !compiles
		case "COPY", "ADD":
			left = !compiles && !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(there, path.Base(w)) })
		}
		if left {
			list = append(list, in)
		}
	}
	return list
}

// programs are the names of files that the image has without a Dockerfile: what is
// compiled or started, and what the base brings.
func programs(all []dockerfile.Instruction) []string {
	names := []string{path.Base(entrypoint), "ca-certificates.crt", "passwd"}
	for _, in := range all {
		for i, w := range plainWords(in) {
			switch {
			case (in.Name == "ENTRYPOINT" || in.Name == "CMD") && (i == 0 || path.IsAbs(w)):
				names = append(names, path.Base(w))
			case in.Name == "RUN" && (strings.HasPrefix(w, "-o=") || i > 0 && plainWords(in)[i-1] == "-o"):
				names = append(names, path.Base(strings.TrimPrefix(w, "-o=")))
			}
		}
	}
	return names
}

// plainWords are the words of an instruction in either form, JSON or not.
func plainWords(in dockerfile.Instruction) []string {
	return dockerfile.Words(strings.NewReplacer("[", " ", "]", " ", ",", " ", `"`, "").Replace(in.Args))
}

// label takes KEY=VALUE pairs, or the old form KEY VALUE.
func (r *Recipe) label(args string) error {
	list, err := dockerfile.Values(args)
	if err != nil {
		return fmt.Errorf("LABEL: %w", err)
	}
	if len(list) == 0 {
		return fmt.Errorf("LABEL: there is no label")
	}
	if !strings.Contains(list[0], "=") {
		r.Labels[list[0]] = strings.Join(list[1:], " ")
		return nil
	}
	for _, w := range list {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return fmt.Errorf("LABEL: %q is not KEY=VALUE", w)
		}
		r.Labels[key] = value
	}
	return nil
}

// copy follows a COPY of plain files. Anything that takes a builder, such as stages,
// globs and variables, is an error: an image without a file would be worse.
func (r *Recipe) copy(args string, line int) error {
	list, err := dockerfile.Values(args)
	switch {
	case err != nil:
		return fmt.Errorf("COPY: %w", err)
	case len(list) > 0 && (strings.HasPrefix(list[0], "--") || strings.HasPrefix(list[0], "[")):
		return fmt.Errorf("COPY %s cannot be followed", list[0])
	case len(list) < 2:
		return fmt.Errorf("COPY takes a source and a target")
	}
	c := Copy{To: list[len(list)-1], Line: line}
	for _, from := range list[:len(list)-1] {
		clean := strings.TrimPrefix(path.Clean(from), "/")
		clean = cmp.Or(clean, ".")
		if !fs.ValidPath(clean) || strings.ContainsAny(from, "*?[$<") {
			return fmt.Errorf("COPY %s: a source is a plain path below the Dockerfile's directory", from)
		}
		c.From = append(c.From, clean)
	}
	if strings.Contains(c.To, "$") || !utf8.ValidString(c.To) {
		return fmt.Errorf("COPY to %q: a target is a plain path, without variables", c.To)
	}
	slash := strings.HasSuffix(c.To, "/") || len(c.From) > 1
	if c.To = strings.Trim(path.Clean("/"+c.To), "/"); slash && c.To != "" {
		c.To += "/"
	}
	r.Copies = append(r.Copies, c)
	return nil
}

// Gather reads the files that the recipe copies out of context. A source that
// is missing is an error.
func (r *Recipe) Gather(context fs.FS, where string) (Files, error) {
	files := Files{}
	for _, c := range r.Copies {
		for _, from := range c.From {
			if err := gather(files, context, from, c.To); err != nil {
				return nil, fmt.Errorf("%s:%d: copy %s: %w", where, c.Line, from, err)
			}
		}
	}
	return files, nil
}

// gather copies a file, or what is in a directory, to the path to. Links are
// refused: what they lead to may be outside.
func gather(files Files, context fs.FS, from, to string) error {
	info, err := fs.Lstat(context, from)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return linkError(from)
	}
	if !info.IsDir() {
		data, err := fs.ReadFile(context, from)
		if to == "" || strings.HasSuffix(to, "/") {
			to += path.Base(from)
		}
		files[to] = data
		return err
	}
	return fs.WalkDir(context, from, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Type()&fs.ModeSymlink != 0:
			return linkError(name)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(context, name)
		rest := name
		if from != "." {
			rest = strings.TrimPrefix(name, from+"/")
		}
		files[path.Join(to, rest)] = data
		return err
	})
}

func linkError(name string) error {
	return clierr.Failedf("put the file itself in its place", "%s is a symbolic link", name)
}
