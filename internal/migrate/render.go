package migrate

import (
	"bytes"
	"fmt"
	"strings"
	"text/template"

	"github.com/example/mysdk/internal/project"
)

// fill is the text that a template makes of data.
func fill(text string, data any) ([]byte, error) {
	var b bytes.Buffer
	t, err := template.New("").Parse(text)
	if err == nil {
		err = t.Execute(&b, data)
	}
	if err != nil {
		return nil, fmt.Errorf("fill in the template: %w", err)
	}
	return b.Bytes(), nil
}

// render makes the scaffold that a PROJECT file describes, with the certificates
// of webhooks from a certain place, empty for the usual one. Its files are taken,
// but for those in whose place the user has his own.
func (m *migration) render(projectText []byte, certs string, own func(name string) bool) error {
	f, err := project.Parse(projectText)
	if err != nil {
		return err
	}
	p, err := f.Replay(project.ReplayOptions{Scaffolder: m.Scaffolder, Header: m.files[project.HeaderFile].data, Certs: certs})
	if err != nil {
		return err
	}
	m.rendered = p.Files
	for name, data := range p.Files {
		if name != project.FileName && !own(name) && !(strings.HasPrefix(name, "test/e2e/") && hasDir(m.files, "test/e2e")) {
			m.out[name] = output{file: file{data: data, mode: 0o644}}
		}
	}
	return nil
}
