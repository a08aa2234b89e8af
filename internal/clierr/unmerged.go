package clierr

import "bytes"

// Unmerged is an error if a file has conflict markers of git, and else nil. Parsers
// report them as mistakes of syntax, which does not tell what to do.
func Unmerged(name string, data []byte) error {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) {
			return Failedf("keep the lines that you want, remove the others and the markers, and run the command again; 'git status' lists all files in conflict",
				"%s:%d: unresolved merge conflict", name, n)
		}
	}
	return nil
}
