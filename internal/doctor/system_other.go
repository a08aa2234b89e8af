//go:build !linux && !darwin

package doctor

import "errors"

// Neither is known here; the checks are left out.
func free(string) (uint64, error) { return 0, errors.ErrUnsupported }
func writable(string) error       { return errors.ErrUnsupported }
