// Package clierr carries what a user needs besides an error's text: a hint
// with the next command to type, and the exit code that tells kinds of failure
// apart. It knows nothing of any command; printing is the root command's job.
package clierr

import (
	"errors"
	"fmt"
	"iter"
)

// Exit codes of mysdk, the same for every command.
const (
	CodeFailed      = 1   // the work was tried and did not succeed
	CodeUsage       = 2   // the command line, a name or a value in it is wrong
	CodeOutOfDate   = 3   // --check found something to write
	CodeUnavailable = 4   // the cluster is unreachable or did not become ready
	CodeInterrupted = 130 // stopped by Ctrl-C, SIGTERM or SIGHUP
)

// Error is an error together with its hint and exit code.
type Error struct {
	Err  error
	Hint string // the next command to type, or what to change; may be empty
	Code int    // 0 leaves the code to an error further down the chain
}

// Error returns the text of the wrapped error. The hint is printed apart.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives errors.Is and errors.As the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Usagef is an error of the command line with exit code 2. The format takes
// %w like fmt.Errorf.
func Usagef(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint, Code: CodeUsage}
}

// Failedf is an error with exit code 1 and a hint.
func Failedf(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint, Code: CodeFailed}
}

// Unavailablef is an error of a cluster that does not answer or is not ready,
// with exit code 4.
func Unavailablef(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint, Code: CodeUnavailable}
}

// OutOfDatef is the finding of a --check, with exit code 3.
func OutOfDatef(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint, Code: CodeOutOfDate}
}

// WithHint adds a hint to err, unless one stands in its chain already: the
// place nearest to the cause knows best. A nil err stays nil.
func WithHint(err error, hint string) error {
	if err == nil || HintOf(err) != "" {
		return err
	}
	return &Error{Err: err, Hint: hint}
}

// HintOf returns the first hint in err's chain, or "".
func HintOf(err error) string {
	for e := range each(err) {
		if e.Hint != "" {
			return e.Hint
		}
	}
	return ""
}

// CodeOf returns the exit code for err: 0 for nil, the first code in the chain,
// else 1. That the user pressed Ctrl-C is not in an error: a context is also
// cancelled for other reasons, and only who listens to signals knows.
func CodeOf(err error) int {
	if err == nil {
		return 0
	}
	for e := range each(err) {
		if e.Code != 0 {
			return e.Code
		}
	}
	return CodeFailed
}

// each visits the Errors in err's chain, the outermost first.
func each(err error) iter.Seq[*Error] {
	return func(yield func(*Error) bool) {
		for e := (*Error)(nil); errors.As(err, &e) && yield(e); {
			err = e.Err
		}
	}
}
