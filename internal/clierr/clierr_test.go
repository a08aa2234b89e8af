package clierr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/example/mysdk/internal/clierr"
)

func TestCodeAndHint(t *testing.T) {
	cause := errors.New("cause")
	for name, c := range map[string]struct {
		err  error
		code int
		hint string
	}{
		"nil":                {nil, 0, ""},
		"plain":              {cause, 1, ""},
		"usage":              {clierr.Usagef("h", "x: %w", cause), 2, "h"},
		"out of date":        {clierr.OutOfDatef("h", "x"), 3, "h"},
		"unavailable":        {clierr.Unavailablef("", "x"), 4, ""},
		"wrapped":            {fmt.Errorf("a: %w", clierr.Usagef("h", "x")), 2, "h"},
		"nearest hint wins":  {clierr.WithHint(clierr.Usagef("inner", "x"), "outer"), 2, "inner"},
		"hint added":         {clierr.WithHint(cause, "outer"), 1, "outer"},
		"code from below":    {clierr.WithHint(clierr.Usagef("", "x"), "outer"), 2, "outer"},
		"not by Ctrl-C":      {fmt.Errorf("x: %w", context.Canceled), 1, ""},
		"cancelled refusal":  {clierr.Usagef("h", "x: %w", context.Canceled), 2, "h"},
		"hint on nil is nil": {clierr.WithHint(nil, "h"), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clierr.CodeOf(c.err); got != c.code {
				t.Errorf("code %d, want %d", got, c.code)
			}
			if got := clierr.HintOf(c.err); got != c.hint {
				t.Errorf("hint %q, want %q", got, c.hint)
			}
		})
	}
	if !errors.Is(clierr.Failedf("", "x: %w", cause), cause) {
		t.Error("the cause is lost")
	}
}

func TestClosestTakesTheOnlyOneThatBegins(t *testing.T) {
	names := []string{"go/v4", "deploy-image/v1-alpha", "helm/v1-alpha", "helm/v2-alpha"}
	for word, want := range map[string]string{"deploy-image/v1": "deploy-image/v1-alpha", "de": "", "helm": "", "Deploy": "deploy-image/v1-alpha"} {
		if got := clierr.Closest(word, names); got != want {
			t.Errorf("Closest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"init", "create", "generate", "kubectl"}
	for word, want := range map[string]string{
		"inti": `did you mean "init"?`, "craete": `did you mean "create"?`, "genrate": `did you mean "generate"?`,
		"Init": `did you mean "init"?`, "zebra": "choose one of: init, create, generate, kubectl",
	} {
		if got := clierr.DidYouMean(word, names); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}
