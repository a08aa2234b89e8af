package migrate

import (
	"bytes"
	"fmt"
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

// render is the scaffold that a PROJECT file describes.
func (m *migration) render(projectText []byte) (map[string][]byte, error) {
	return m.renderCerts(projectText, "")
}

// renderCerts is render with the certificates of webhooks from a certain
// place, empty for the usual one.
func (m *migration) renderCerts(projectText []byte, certs string) (map[string][]byte, error) {
	f, err := project.Parse(projectText)
	if err != nil {
		return nil, err
	}
	p, err := f.Replay(project.ReplayOptions{Scaffolder: m.Scaffolder, Header: m.files[project.HeaderFile].data, Certs: certs})
	if err != nil {
		return nil, err
	}
	return p.Files, nil
}
