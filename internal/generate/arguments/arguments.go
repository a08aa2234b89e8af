// Package arguments reads the arguments of markers by the syntax of
// controller-tools. It stands apart from the generators for mysdk-cluster, which
// reads bundles and would start later with them.
package arguments

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	lazy "go.podman.io/storage/pkg/regexp"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/example/mysdk/internal/clierr"
)

var (
	// unknown is how the parser names an argument that it does not know.
	unknown = lazy.Delayed(`^unknown argument "([^"]*)"`)
	// blank is a text in quotes, or blanks behind one without: the parser loses
	// the word before those.
	blank = lazy.Delayed("(\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)|[ \t]+([,;}])")
)

// Parse reads name=value,name=value into a struct with a field for each name.
// The error has a hint where a name is unknown.
func Parse[T any](text string) (args T, err error) {
	def, err := markers.MakeDefinition("", markers.DescribesType, args)
	if err != nil {
		return args, err
	}
	v, err := Read(def, "+="+blank.ReplaceAllString(text, "$1$2")) // a marker without a name
	if err == nil {
		return v.(T), nil
	}
	msg, arg := Reason(err)
	if arg == "" {
		return args, errors.New(msg)
	}
	return args, clierr.Failedf(clierr.DidYouMean(arg, slices.Sorted(maps.Keys(def.Fields))), "%s", msg)
}

// Read is Definition.Parse, which panics on some input.
func Read(def *markers.Definition, text string) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be parsed: %v", p)
		}
	}()
	return def.Parse(text)
}

// Reason is what the parser finds wrong, and the argument that it does not know.
func Reason(err error) (msg, argument string) {
	for list := (loader.ErrList{}); errors.As(err, &list) && len(list) > 0; {
		err = list[0] // the ones behind it follow from it
	}
	msg = err.Error()
	if scan, ok := errors.AsType[*markers.ScannerError](err); ok {
		msg = scan.Msg // without the position in text that the user does not see as such
	}
	if number, ok := errors.AsType[*strconv.NumError](err); ok { // of a marker with a parser of its own
		msg = fmt.Sprintf("expected a number, got %q", number.Num)
	}
	if arg := unknown.FindStringSubmatch(msg); arg != nil {
		argument = arg[1]
	}
	return msg, argument
}
