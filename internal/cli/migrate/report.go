package migrate

import (
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/migrate"
)

// migrationReport is a plan, or what became of it, for programs.
type migrationReport struct {
	From     migrate.Layout     `json:"from"`
	To       migrate.Layout     `json:"to"`
	Written  bool               `json:"written"`
	Files    []migrationFile    `json:"files"`
	Notes    []migrationNote    `json:"notes,omitempty"`
	Problems []migrationProblem `json:"problems,omitempty"`
	Left     []string           `json:"left,omitempty"`
}

type migrationFile struct {
	Path   string          `json:"path"`
	From   string          `json:"from,omitempty"`
	Status migrate.Status  `json:"status"`
	Notes  []migrationNote `json:"notes,omitempty"`
}

type migrationNote struct {
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

type migrationProblem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
}

// reportMigration prints the plan in a format for programs.
func reportMigration(f *cli.Factory, format string, p *migrate.Plan, written bool) error {
	r := migrationReport{From: p.From, To: migrate.LayoutCurrent, Written: written, Files: []migrationFile{}, Notes: migrationNotes(p.General), Left: p.Left}
	for _, e := range p.Files {
		r.Files = append(r.Files, migrationFile{e.Path, e.From, e.Status, migrationNotes(e.Notes)})
	}
	for _, problem := range p.Problems {
		r.Problems = append(r.Problems, migrationProblem(problem))
	}
	return f.Report(format, r, nil)
}

func migrationNotes(list []migrate.Note) []migrationNote {
	var out []migrationNote
	for _, n := range list {
		out = append(out, migrationNote(n))
	}
	return out
}
