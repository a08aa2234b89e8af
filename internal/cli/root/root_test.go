package root

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestTestKeepsItsWords: only directly behind test is a word an old verb.
func TestTestKeepsItsWords(t *testing.T) {
	for typed, want := range map[string]string{
		"test local": "local", "test cluster x": "cluster", "-q test local ./a": "local",
		"test": "test", "test -tags cluster ./...": "test", "test -run local ./...": "test", "test ./local -run test local": "test",
	} {
		args := strings.Fields(typed)
		c, _, err := rootFor(&cli.Factory{Host: hosttest.New(t).Host}, args).Find(args)
		if err != nil || c.Name() != want {
			t.Errorf("%q: %s, %v, want %s", typed, c.CommandPath(), err, want)
		}
	}
}

// TestAimKnowsAllCommands: hints with a command that takes a cluster name it.
func TestAimKnowsAllCommands(t *testing.T) {
	everyFlag(t, func(c *cobra.Command, flag *pflag.Flag) {
		if flag.Name != "context" || c.Flags().Lookup("cluster") == nil {
			return
		}
		if err := c.Flags().Set("context", "dev"); err != nil {
			t.Fatal(err)
		}
		f := &cli.Factory{Running: c, Given: map[string]bool{"context": true}}
		if got, want := f.Aim(c.CommandPath()), c.CommandPath()+" --context dev"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
