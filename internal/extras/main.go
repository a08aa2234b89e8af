// Command extras writes the man pages and shell completions of mysdk, which
// release archives hold beside the binaries: share/man/man1 and
// share/completions below the directory that is its argument.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: go run ./internal/extras DIR")
	}
	h, err := host.System()
	if err != nil {
		return err
	}
	return write(root.Root(h), os.Args[1])
}

// write puts both below dir. The pages' date is that of SOURCE_DATE_EPOCH, so that
// the same source makes the same bytes.
func write(tree *cobra.Command, dir string) error {
	man, completions := filepath.Join(dir, "share/man/man1"), filepath.Join(dir, "share/completions")
	if err := errors.Join(os.MkdirAll(man, 0o755), os.MkdirAll(completions, 0o755)); err != nil {
		return err
	}
	tree.DisableAutoGenTag = true
	if err := doc.GenManTree(tree, &doc.GenManHeader{Section: "1", Source: "mysdk"}, man); err != nil {
		return err
	}
	for name, generate := range map[string]func(*bytes.Buffer) error{
		"mysdk.bash": func(b *bytes.Buffer) error { return tree.GenBashCompletionV2(b, true) },
		"_mysdk":     func(b *bytes.Buffer) error { return tree.GenZshCompletion(b) },
		"mysdk.fish": func(b *bytes.Buffer) error { return tree.GenFishCompletion(b, true) },
		"mysdk.ps1":  func(b *bytes.Buffer) error { return tree.GenPowerShellCompletionWithDesc(b) },
	} {
		var text bytes.Buffer
		if err := generate(&text); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(completions, name), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
