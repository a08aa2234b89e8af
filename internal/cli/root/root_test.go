package root

import (
	"strings"
	"testing"

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
