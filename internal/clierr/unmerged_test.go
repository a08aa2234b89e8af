package clierr_test

import (
	"testing"

	"github.com/example/mysdk/internal/clierr"
)

func TestUnmerged(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":       {"", ""},
		"a heading":     {"a\n=======\nb\n", ""},
		"shifted left":  {"x := 1 <<<<<<< 2\n <<<<<<< HEAD\n", ""},
		"a conflict":    {"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n", "f:2: unresolved merge conflict"},
		"with the base": {"<<<<<<< ours\r\na\r\n||||||| base\r\nb\r\n=======\r\n", "f:1: unresolved merge conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := clierr.Unmerged("f", []byte(c.text)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
