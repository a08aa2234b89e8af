package goedit

import (
	"go/ast"
	"iter"
)

// Each is every node of a kind in a tree, in the order of the source.
func Each[N ast.Node](root ast.Node) iter.Seq[N] {
	return func(yield func(N) bool) {
		for n := range ast.Preorder(root) {
			if n, ok := n.(N); ok && !yield(n) {
				return
			}
		}
	}
}

// Has says whether a node of a kind in a tree is such.
func Has[N ast.Node](root ast.Node, such func(N) bool) bool {
	for n := range Each[N](root) {
		if such(n) {
			return true
		}
	}
	return false
}

// Functions are the functions and methods of the file that have a body.
func (f *File) Functions() iter.Seq[*ast.FuncDecl] {
	return func(yield func(*ast.FuncDecl) bool) {
		for _, d := range f.Tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !yield(fn) {
				return
			}
		}
	}
}

// Types are the types that the file declares, with their declarations.
func (f *File) Types() iter.Seq2[*ast.GenDecl, *ast.TypeSpec] { return Types(f.Tree) }

// Types are those of a file that is only read.
func Types(f *ast.File) iter.Seq2[*ast.GenDecl, *ast.TypeSpec] {
	return func(yield func(*ast.GenDecl, *ast.TypeSpec) bool) {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && !yield(g, t) {
					return
				}
			}
		}
	}
}

// Chains are the chains of calls in a tree that begin with such a call: that one,
// and those behind it by their names, as in first().Name().Other().
func Chains(root ast.Node, such func(first *ast.CallExpr) bool) iter.Seq2[*ast.CallExpr, map[string]*ast.CallExpr] {
	return func(yield func(*ast.CallExpr, map[string]*ast.CallExpr) bool) {
		seen := map[*ast.CallExpr]bool{}
		for call := range Each[*ast.CallExpr](root) { // the last call of a chain comes first
			calls := map[string]*ast.CallExpr{}
			for call != nil && !seen[call] {
				seen[call] = true
				if such(call) {
					if !yield(call, calls) {
						return
					}
					break
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					break
				}
				calls[sel.Sel.Name] = call
				call, _ = sel.X.(*ast.CallExpr)
			}
		}
	}
}
