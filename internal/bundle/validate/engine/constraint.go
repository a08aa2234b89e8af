package engine

import (
	"github.com/operator-framework/api/pkg/constraints"

	"github.com/example/mysdk/internal/bundle/validate"
)

// constraints judges dependencies of the type olm.constraint as OLM reads them.
func (r *runner) constraints(list []validate.Constraint) {
	if len(list) == 0 {
		return // the environment of expressions takes its time
	}
	env := constraints.NewCelEnvironment()
	for _, c := range list {
		bad := func(text, value string) {
			r.results = append(r.results, validate.Result{Validator: "dependencies", Error: true, Type: "ParseError", Field: c.Field, Detail: text, Value: value})
		}
		parsed, err := constraints.Parse(c.Value)
		if err != nil {
			bad("a dependency of the type olm.constraint: the value cannot be read: "+err.Error(), "")
			continue
		}
		each(parsed, func(one constraints.Constraint) {
			switch text := lack(one); {
			case text != "":
				bad("a dependency of the type olm.constraint: "+text, "")
			case one.Cel != nil:
				if _, err := env.Validate(one.Cel.Rule); err != nil {
					bad("the rule does not compile: "+err.Error(), one.Cel.Rule)
				}
			}
		})
	}
}

// each calls f with a constraint and all that stand in it.
func each(c constraints.Constraint, f func(constraints.Constraint)) {
	f(c)
	for _, group := range []*constraints.CompoundConstraint{c.All, c.Any, c.Not} {
		if group == nil {
			continue
		}
		for _, inner := range group.Constraints {
			each(inner, f)
		}
	}
}

// lack says what a constraint has to have and has not, "" for nothing.
func lack(c constraints.Constraint) string {
	switch {
	case c.Cel != nil && c.Cel.Rule == "":
		return "cel.rule is missing"
	case c.Cel == nil && c.Package == nil && c.GVK == nil && c.All == nil && c.Any == nil && c.Not == nil:
		return "one of cel, package, gvk, all, any and not is needed"
	}
	return ""
}
