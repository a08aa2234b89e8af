// Package quickstart is a test that does what a newcomer does, with the real
// binaries and nothing else but Go in PATH: it makes a project in an empty
// directory, runs its operator, and watches it create, scale, heal and delete.
// It knows the command line only, none of mysdk's packages but host. `make
// quickstart` runs it with the command that builds the binaries first; it prints
// every step with its time and fails at the first that does not happen.
package quickstart
