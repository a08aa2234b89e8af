package apidocs

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed templates/page.html.tmpl
var page string

// HTML is the reference as one page that needs nothing else.
func HTML(kinds []Kind) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"validation": validation, "typeOf": typeOf}).Parse(page)
	return render(t, err, kinds)
}

// render fills in a page that has been parsed.
func render(t interface{ Execute(io.Writer, any) error }, err error, kinds []Kind) ([]byte, error) {
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, kinds)
	}
	if err != nil {
		return nil, fmt.Errorf("render the API reference: %w", err)
	}
	return b.Bytes(), nil
}
