package bundle

import (
	"errors"
	"io/fs"
	"testing"
)

// TestAbsent: Windows has another error for the path that an image's name would be
// than for a file that is missing.
func TestAbsent(t *testing.T) {
	invalid := errors.New("the filename, directory name, or volume label syntax is incorrect")
	for _, c := range []struct {
		arg  string
		err  error
		want bool
	}{
		{"bundle", nil, false},
		{"bundle", fs.ErrNotExist, true},
		{"bundle", fs.ErrPermission, false},
		{"my.bundles/one", fs.ErrPermission, false},
		{"localhost:5000/bundle:v1", nil, false},
		{"localhost:5000/bundle:v1", fs.ErrNotExist, true},
		{"localhost:5000/bundle:v1", invalid, true},
		{"localhost:5000/bundle", invalid, true},
		{"bundle:v1", invalid, true},
		{"./bundle:v1", invalid, false},
	} {
		if got := absent(c.arg, c.err); got != c.want {
			t.Errorf("%s: %v: %v", c.arg, c.err, got)
		}
	}
}
