package generate

import (
	"fmt"
	"strings"
	"testing"
)

// manyKinds is a project with n kinds in one group.
func manyKinds(n int) map[string]string {
	files := small()
	for i := range n - 1 {
		name := fmt.Sprintf("Kind%d", i)
		files[fmt.Sprintf("api/v1/kind%d_types.go", i)] = strings.ReplaceAll(kindFile, "Cache", name)
	}
	return files
}

// BenchmarkRender renders everything with warm caches, as after a change.
func BenchmarkRender(b *testing.B) {
	for _, n := range []int{1, 50, 200} {
		b.Run(fmt.Sprintf("kinds=%d", n), func(b *testing.B) {
			p := newProject(b, manyKinds(n))
			p.accept(p.render())
			for b.Loop() {
				p.render()
			}
		})
	}
}

// BenchmarkScaffold renders an API that is not on disk yet.
func BenchmarkScaffold(b *testing.B) {
	p := newProject(b, nil)
	p.opts.Overlay = overlay(b, small())
	p.render()
	for b.Loop() {
		p.render()
	}
}

// BenchmarkUnchanged finds nothing to do.
func BenchmarkUnchanged(b *testing.B) {
	for _, n := range []int{1, 50, 200} {
		b.Run(fmt.Sprintf("kinds=%d", n), func(b *testing.B) {
			p := newProject(b, manyKinds(n))
			p.opts.CacheDir = b.TempDir()
			p.accept(p.render())
			for b.Loop() {
				if !p.render().Unchanged {
					b.Fatal("something changed")
				}
			}
		})
	}
}
