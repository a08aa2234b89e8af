package fileset

// lock does nothing: Windows has no lock on a directory.
func (t Tree) lock() (unlock func() error, err error) {
	return func() error { return nil }, nil
}
