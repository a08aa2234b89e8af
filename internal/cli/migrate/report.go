package migrate

import (
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/migrate"
)

// reportMigration prints the plan, or what became of it, in a format for
// programs.
func reportMigration(f *cli.Factory, format string, p *migrate.Plan, written bool) error {
	files := p.Files
	if files == nil {
		files = []migrate.Entry{}
	}
	return f.Report(format, struct {
		From     migrate.Layout    `json:"from"`
		To       migrate.Layout    `json:"to"`
		Written  bool              `json:"written"`
		Files    []migrate.Entry   `json:"files"`
		Notes    []migrate.Note    `json:"notes,omitempty"`
		Problems []migrate.Problem `json:"problems,omitempty"`
		Breaks   []migrate.Problem `json:"breaks,omitempty"` // changes of CRDs
		Left     []string          `json:"left,omitempty"`
	}{p.From, migrate.LayoutCurrent, written, files, p.General, p.Problems, p.Breaks, p.Left}, nil)
}
