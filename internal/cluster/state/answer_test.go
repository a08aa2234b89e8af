package state

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func TestAnswer(t *testing.T) {
	var out bytes.Buffer
	if err := Answer(t.Context(), strings.NewReader("21"), &out, double); err != nil || out.String() != "42\n" {
		t.Errorf("Answer() = %v, printed %q", err, &out)
	}
	if err := Answer(t.Context(), strings.NewReader("{"), &out, double); err == nil {
		t.Error("half a question is answered")
	}
}

func TestAnswerEndsWithItsContext(t *testing.T) {
	in, _ := io.Pipe() // nobody ever writes
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Answer(ctx, in, io.Discard, double); !errors.Is(err, context.Canceled) {
		t.Errorf("Answer() = %v", err)
	}
}
