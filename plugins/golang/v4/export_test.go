package v4

import "text/template"

// Data is the dot of the templates, for the tests that render them by themselves.
type Data = data

// Functions are what the templates may call.
func Functions() template.FuncMap { return (&file{}).GetFuncMap() }
