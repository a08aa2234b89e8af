// Package relayout carries a change of a scaffold over to a project that its
// user has worked in: it merges lines, moves files, and rewrites imports,
// package clauses and markers by the syntax tree. It knows Go source, RBAC
// markers and the unit that a change of the scaffold comes in (the files as
// they would have been written before and after); it knows neither what is in
// a scaffold nor PROJECT nor commands, and it writes nothing.
package relayout
