package v4

import (
	"fmt"
	"go/ast"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNesting of lists and maps ends types that are lists of themselves.
const maxNesting = 8

// converter writes the code that converts a kind between two versions, as far
// as comparing their types by syntax goes.
type converter struct {
	spoke, hub *goPackage
	from, to   *goPackage // the two in the direction that is being written
	hubAlias   string     // import name of the hub's package
	hubVersion string
	helpers    []string
	written    map[string]bool
}

// convert writes both directions for a kind.
func convert(kind, hubVersion, hubAlias string, spoke, hub *goPackage) (code spokeData, err error) {
	for _, p := range []*goPackage{spoke, hub} {
		if t, ok := p.types[kind]; !ok || !t.isStruct() {
			return code, usage("run 'mysdk create api' for that version first", "%s: found no struct %s", p.dir, kind)
		}
	}
	c := &converter{spoke: spoke, hub: hub, hubAlias: hubAlias, hubVersion: hubVersion, written: map[string]bool{}}
	c.from, c.to = spoke, hub
	code.To = c.structBody(kind)
	c.from, c.to = hub, spoke
	code.From = c.structBody(kind)
	code.Helpers = strings.Join(c.helpers, "\n")
	return code, nil
}

// structBody is the statements that fill *dst from *src, both of the struct
// type of that name, one for each field that they share. What they do not
// share is told in a comment.
func (c *converter) structBody(name string) string {
	var b strings.Builder
	targets := c.to.types[name].fields()
	for _, f := range c.from.types[name].fields() {
		if f.name == "TypeMeta" {
			continue
		}
		target, ok := findField(targets, f)
		if !ok {
			fmt.Fprintf(&b, "\t// %s stays behind: %s has no such field.\n", f.name, c.target())
			continue
		}
		code, ok := c.assign("dst."+target.name, "src."+f.name, target.goType, f.goType, 0)
		if !ok {
			fmt.Fprintf(&b, "\t// %s stays behind: convert it to its type in %s by hand.\n", f.name, c.target())
			continue
		}
		b.WriteString(code)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// target is what comments call the version that is converted to.
func (c *converter) target() string {
	if c.to == c.hub {
		return c.hubVersion
	}
	return "this version"
}

// assign writes the statements that set dst, of type to, from src, of type
// from. depth tells nested loops apart.
func (c *converter) assign(dst, src string, to, from goType, depth int) (string, bool) {
	if f := from.foreign(); f != "" {
		return fmt.Sprintf("\t%s = %s\n", dst, src), f == to.foreign()
	}
	if depth > maxNesting {
		return "", false
	}
	switch f := from.expr.(type) {
	case *ast.Ident:
		return c.assignNamed(dst, src, to, from, depth)
	case *ast.StarExpr:
		t, ok := to.expr.(*ast.StarExpr)
		if !ok {
			return "", false
		}
		return c.assignPointer(dst, src, to.with(t.X), from.with(f.X))
	case *ast.ArrayType:
		t, ok := to.expr.(*ast.ArrayType)
		if !ok || f.Len != nil || t.Len != nil {
			return "", false
		}
		elem, ok := c.typeText(to.with(t.Elt))
		i := string(rune('i' + depth))
		code, converted := c.assign(dst+"["+i+"]", src+"["+i+"]", to.with(t.Elt), from.with(f.Elt), depth+1)
		return fmt.Sprintf("\tif %[2]s != nil {\n%[1]s = make([]%[3]s, len(%[2]s))\nfor %[4]s := range %[2]s {\n%[5]s}\n}\n", dst, src, elem, i, code), ok && converted
	case *ast.MapType:
		t, ok := to.expr.(*ast.MapType)
		if !ok {
			return "", false
		}
		return c.assignMap(dst, src, to, from, t, f, depth)
	}
	return "", false
}

// assignNamed converts between types that both packages declare.
func (c *converter) assignNamed(dst, src string, to, from goType, depth int) (string, bool) {
	name, fromType, _ := from.local()
	toName, toType, ok := to.local()
	_, isList := fromType.expr.(*ast.ArrayType)
	_, isMap := fromType.expr.(*ast.MapType)
	switch {
	case !ok || name != toName:
		return "", false
	case fromType.foreign() == "" && (isList || isMap):
		return c.assign(dst, src, toType, fromType, depth)
	case fromType.isStruct() && toType.isStruct():
		return fmt.Sprintf("\t%s(&%s, &%s)\n", c.helper(name), src, dst), true
	case fromType.foreign() != "" && fromType.foreign() == toType.foreign():
		text, _ := c.typeText(to)
		return fmt.Sprintf("\t%s = %s(%s)\n", dst, text, src), true
	}
	return "", false
}

func (c *converter) assignPointer(dst, src string, to, from goType) (string, bool) {
	name, fromType, ok := from.local()
	toName, toType, isLocal := to.local()
	text, _ := c.typeText(to)
	switch {
	case !ok || !isLocal || name != toName:
		return "", false
	case fromType.isStruct() && toType.isStruct():
		return fmt.Sprintf("\tif %[2]s != nil {\n%[1]s = new(%[3]s)\n%[4]s(%[2]s, %[1]s)\n}\n", dst, src, text, c.helper(name)), true
	case fromType.foreign() != "" && fromType.foreign() == toType.foreign():
		return fmt.Sprintf("\tif %[2]s != nil {\nvalue := %[3]s(*%[2]s)\n%[1]s = &value\n}\n", dst, src, text), true
	}
	return "", false
}

func (c *converter) assignMap(dst, src string, to, from goType, toMap, fromMap *ast.MapType, depth int) (string, bool) {
	suffix := ""
	if depth > 0 {
		suffix = fmt.Sprint(depth)
	}
	keyText, key, sameKeys := c.mapKey("key"+suffix, to.with(toMap.Key), from.with(fromMap.Key))
	elem, ok := c.typeText(to.with(toMap.Value))
	if !ok || !sameKeys {
		return "", false
	}
	in, out := "value"+suffix, "converted"+suffix
	code, ok := c.assign(out, in, to.with(toMap.Value), from.with(fromMap.Value), depth+1)
	return fmt.Sprintf("\tif %[2]s != nil {\n%[1]s = make(map[%[3]s]%[4]s, len(%[2]s))\nfor key%[5]s, %[6]s := range %[2]s {\nvar %[7]s %[4]s\n%[8]s%[1]s[%[9]s] = %[7]s\n}\n}\n",
		dst, src, keyText, elem, suffix, in, out, code, key), ok
}

// mapKey writes the type of a map's keys, and the key of that type that a variable
// stands for.
func (c *converter) mapKey(variable string, to, from goType) (text, key string, ok bool) {
	text, ok = c.typeText(to)
	name, fromType, isLocal := from.local()
	if !isLocal {
		_, isPlain := from.expr.(*ast.Ident)
		return text, variable, ok && isPlain && from.foreign() == to.foreign()
	}
	toName, toType, _ := to.local()
	return text, text + "(" + variable + ")", ok && name == toName && fromType.foreign() != "" && fromType.foreign() == toType.foreign()
}

// typeText writes a type as the spoke's file has to. Types that would need
// another import are left alone.
func (c *converter) typeText(t goType) (string, bool) {
	switch e := t.expr.(type) {
	case *ast.Ident:
		if _, _, local := t.local(); local && t.pkg == c.hub {
			return c.hubAlias + "." + e.Name, true
		}
		return e.Name, true
	case *ast.StarExpr:
		text, ok := c.typeText(t.with(e.X))
		return "*" + text, ok
	case *ast.ArrayType:
		text, ok := c.typeText(t.with(e.Elt))
		return "[]" + text, ok && e.Len == nil
	}
	return "", false
}

// helper returns the name of the function that converts a struct type, and
// writes it the first time: another kind of the package may share the struct.
func (c *converter) helper(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	direction, in, out := "From", c.hubAlias+"."+name, name
	if c.to == c.hub {
		direction, in, out = "To", name, c.hubAlias+"."+name
	}
	function := string(unicode.ToLower(first)) + name[size:] + direction + strings.ToUpper(c.hubVersion[:1]) + c.hubVersion[1:]
	if !c.written[function] && !c.spoke.names[function] {
		c.written[function] = true // first: types may contain themselves
		at := len(c.helpers)
		c.helpers = append(c.helpers, "")
		c.helpers[at] = fmt.Sprintf("\nfunc %s(src *%s, dst *%s) {\n%s\n}\n", function, in, out, c.structBody(name))
	}
	return function
}
