package apidocs

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
)

//go:embed templates/page.html.tmpl
var page string

// HTML is the reference as one page that needs nothing else.
func HTML(kinds []Kind) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"validation": validation, "typeOf": typeOf}).Parse(page)
	if err != nil {
		return nil, fmt.Errorf("render the API reference: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, kinds); err != nil {
		return nil, fmt.Errorf("render the API reference: %w", err)
	}
	return b.Bytes(), nil
}
