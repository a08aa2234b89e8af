package v4

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	cfgv3 "sigs.k8s.io/kubebuilder/v3/pkg/config/v3"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
)

func TestInitFilesAreClean(t *testing.T) {
	for _, flags := range [][]string{nil, {"--multigroup"}, {"--namespaced"}, {"--license=none"}, {"--owner=The \"Shop\" {{ .Authors }}"}} {
		p := newTestProject(t, flags...)
		p.checkFiles(t)
		for name, text := range p.files(t) {
			if strings.Contains(text, "{{") && !strings.Contains(text, "{{ .Authors }}") || strings.Contains(text, "<no value>") {
				t.Errorf("init %q: %s is not rendered", flags, name)
			}
		}
	}
}

func TestLicense(t *testing.T) {
	const mine = "// Mine.\n// All of it.\n"
	license := func(name string) ([]byte, error) {
		switch name {
		case "mine.txt":
			return []byte(mine), nil
		case "windows.txt":
			return []byte("/*\r\nMine.\r\n*/\r\n"), nil
		case "empty.txt":
			return nil, nil
		case "prose.txt":
			return []byte("All rights reserved.\n"), nil
		case "yearly.txt":
			return []byte("// Copyright YEAR Me.\n"), nil
		case "code.txt":
			return []byte("/* Mine. */ package main /* Too. */\n"), nil
		}
		return nil, fs.ErrNotExist
	}
	for name, test := range map[string]struct {
		args      []string
		year      int
		wantStart string // of main.go
		wantErr   string
	}{
		"default":      {year: 2026, wantStart: "/*\nCopyright 2026.\n\nLicensed under the Apache License"},
		"owner":        {year: 2026, args: []string{"--owner=The Shop"}, wantStart: "/*\nCopyright 2026 The Shop.\n"},
		"no year":      {args: []string{"--owner=The Shop"}, wantStart: "/*\nCopyright The Shop.\n"},
		"broken owner": {args: []string{"--owner=me */ func"}, wantErr: "would end the comment"},
		"owner lines":  {args: []string{"--owner=me\nand you"}, wantErr: "not printed"},
		"none":         {args: []string{"--license=none"}, wantStart: "// Command manager"},
		"unknown":      {args: []string{"--license=mit"}, wantErr: `license "mit"`},
		"from a file":  {args: []string{"--license-file=mine.txt"}, wantStart: mine + "\n// Command manager"},
		"of any year":  {year: 2026, args: []string{"--license-file=yearly.txt"}, wantStart: "// Copyright 2026 Me.\n\n"},
		"of Windows":   {args: []string{"--license-file=windows.txt"}, wantStart: "/*\nMine.\n*/\n\n// Command manager"},
		"empty file":   {args: []string{"--license-file=empty.txt"}, wantStart: "// Command manager"},
		"not there":    {args: []string{"--license-file=no.txt"}, wantErr: "no.txt does not exist"},
		"not a header": {args: []string{"--license-file=prose.txt"}, wantErr: "not a Go comment"},
		"code":         {args: []string{"--license-file=code.txt"}, wantErr: "not a Go comment"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &project{config: cfgv3.New(), disk: machinery.Filesystem{FS: afero.NewMemMapFs()}}
			err := p.init(Plugin{Year: test.year, ReadFile: license}, test.args...)
			if test.wantErr != "" {
				refused(t, err, test.wantErr)
				if files := p.files(t); len(files) > 0 {
					t.Errorf("refused, and wrote %d files", len(files))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			files := p.files(t)
			if !strings.HasPrefix(files["cmd/main.go"], test.wantStart) {
				t.Errorf("main.go starts with\n%.120s\nwant\n%s", files["cmd/main.go"], test.wantStart)
			}
			header, isThere := files[boilerplatePath]
			if yearly := strings.Contains(header, "YEAR"); yearly != (name == "of any year") {
				t.Errorf("%s: %s", boilerplatePath, header)
			}
			header = strings.ReplaceAll(header, "YEAR", "2026")
			if isThere != !strings.HasPrefix(test.wantStart, "// Command") {
				t.Errorf("%s is there: %t", boilerplatePath, isThere)
			}
			if isThere && !strings.HasPrefix(files["cmd/main.go"], strings.TrimSpace(header)) {
				t.Errorf("%s differs from the header of main.go", boilerplatePath)
			}

			p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
			if text := p.files(t)["api/v1alpha1/memcached_types.go"]; isThere != strings.HasPrefix(text, strings.TrimSpace(header)+"\n\npackage") {
				t.Errorf("the types start with\n%.120s", text)
			}
			p.checkFiles(t)
		})
	}
}

// A command line that leaves domain, module path and name to the plugin.
func TestInitByItself(t *testing.T) {
	for name, test := range map[string]struct {
		args    []string
		want    []string // domain, repo, name
		wantErr string
	}{
		"nothing":           {want: []string{"my.domain", "my.domain/operator", "operator"}},
		"repo":              {args: []string{"--repo=github.com/you/shop"}, want: []string{"my.domain", "github.com/you/shop", "shop"}},
		"name":              {args: []string{"--domain=example.com", "--project-name=web"}, want: []string{"example.com", "example.com/web", "web"}},
		"domain, upper":     {args: []string{"--domain=Example.com"}, wantErr: "not a DNS name"},
		"domain, scheme":    {args: []string{"--domain=https://example.com"}, wantErr: "not a DNS name"},
		"domain, space":     {args: []string{"--domain=example com"}, wantErr: "not a DNS name"},
		"domain, dots":      {args: []string{"--domain=example..com"}, wantErr: "not a DNS name"},
		"repo, scheme":      {args: []string{"--repo=https://github.com/you/shop"}, wantErr: "not a Go module path"},
		"name, upper":       {args: []string{"--project-name=UPPER"}, wantErr: "not a DNS label"},
		"name, dot":         {args: []string{"--project-name=a.b"}, wantErr: "not a DNS label"},
		"name of that repo": {args: []string{"--repo=example.com/My_Shop"}, wantErr: "not a DNS label"},
	} {
		t.Run(name, func(t *testing.T) {
			sub := Plugin{}.GetInitSubcommand().(*initSubcommand)
			flags := pflag.NewFlagSet("init", pflag.ContinueOnError)
			sub.BindFlags(flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			c := cfgv3.New()
			err := sub.InjectConfig(c)
			if test.wantErr != "" {
				refused(t, err, test.wantErr)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, []string{c.GetDomain(), c.GetRepository(), c.GetProjectName()}); diff != "" {
				t.Errorf("domain, repo, name (-want +got):\n%s", diff)
			}
		})
	}
}

// Flags that the command line has bound before the plugin stay its own.
func TestInitLeavesBoundFlagsAlone(t *testing.T) {
	var domain string
	flags := pflag.NewFlagSet("init", pflag.ContinueOnError)
	flags.StringVar(&domain, "domain", "", "")
	sub := Plugin{}.GetInitSubcommand().(*initSubcommand)
	sub.BindFlags(flags)
	if err := flags.Parse([]string{"--domain=example.com"}); err != nil {
		t.Fatal(err)
	}
	if domain != "example.com" || sub.domain != "" {
		t.Errorf("the flag went to the plugin: %q, %q", domain, sub.domain)
	}
}

func TestProjectExtras(t *testing.T) {
	if got := newTestProject(t).extras; got != nil {
		t.Errorf("extras of a plain project: %v", got)
	}
	want := map[string]any{"namespaced": true}
	if diff := cmp.Diff(want, newTestProject(t, "--namespaced").extras); diff != "" {
		t.Errorf("extras (-want +got):\n%s", diff)
	}
}

func TestInitDoesNotWriteOver(t *testing.T) {
	p := &project{config: cfgv3.New(), disk: machinery.Filesystem{FS: afero.NewMemMapFs()}}
	p.write(t, "Makefile", "all:\n")
	err := p.init(Plugin{})
	var exists machinery.FileAlreadyExistsError
	if !errors.As(err, &exists) {
		t.Errorf("init over a Makefile: %v", err)
	}
	if got := p.files(t)["Makefile"]; got != "all:\n" {
		t.Errorf("the Makefile became %q", got)
	}
}

func BenchmarkInit(b *testing.B) {
	for b.Loop() {
		newTestProject(b)
	}
}

func BenchmarkCreateAPI(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		p := newTestProject(b)
		b.StartTimer()
		p.mustCreateAPI(b, "--group=cache", "--kind=Memcached")
	}
}
