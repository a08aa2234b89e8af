package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/crdify/pkg/config"
	crdify "sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/crdify/pkg/validators/version"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
)

// Compare is a compat.Engine.
func Compare(ctx context.Context, req compat.Request) ([]compat.Change, error) {
	rules, err := crdify.New(configOf(req.Config), crdify.DefaultRegistry())
	if err != nil {
		return nil, err
	}
	out := []compat.Change{}
	for _, name := range slices.Sorted(maps.Keys(req.Old)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if req.New[name] == nil {
			out = append(out, compat.Change{CRD: name, Rule: compat.CRDRemoval, Text: "the CRD is removed"})
			continue
		}
		c := &comparison{name: name, seen: map[versionOf]map[string]node{}}
		if c.old, err = compat.ReadCRD(req.Old[name]); err != nil {
			return nil, unreadable("old", name, err)
		}
		if c.new, err = compat.ReadCRD(req.New[name]); err != nil {
			return nil, unreadable("new", name, err)
		}
		for _, v := range c.old.Spec.Versions {
			if v.Storage && len(c.old.Status.StoredVersions) == 0 { // manifests do not say
				c.old.Status.StoredVersions = []string{v.Name}
			}
		}
		out = append(out, c.run(rules)...)
	}
	return out, nil
}

func unreadable(which, name string, err error) error {
	return clierr.Failedf("correct the manifest of the CRD", "read the %s CRD %s: %s", which, name, strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: "))
}

// configOf is crdify's configuration. All that is found is an error to it, and
// what is one to the user package compat decides. A description binds nobody, and
// a conversion webhook is there because versions differ.
func configOf(c compat.Config) *config.Config {
	out := &config.Config{UnhandledEnforcement: config.EnforcementPolicyError, Conversion: config.ConversionPolicy(cmp.Or(c.Conversion, string(config.ConversionPolicyIgnore)))}
	registered := crdify.DefaultRegistry().Registered()
	described := false
	for _, v := range c.Validations {
		if slices.Contains(registered, v.Name) {
			out.Validations = append(out.Validations, config.ValidationConfig{Name: v.Name, Enforcement: config.EnforcementPolicyError, Configuration: v.Configuration})
		}
		described = described || v.Name == "description"
	}
	if !described {
		out.Validations = append(out.Validations, config.ValidationConfig{Name: "description", Enforcement: config.EnforcementPolicyNone})
	}
	return out
}

// comparison is of two CRDs of one name.
type comparison struct {
	name     string
	old, new *apiextensionsv1.CustomResourceDefinition
	seen     map[versionOf]map[string]node // what schemas has returned
	out      []compat.Change
}

type versionOf struct {
	crd  *apiextensionsv1.CustomResourceDefinition
	name string
}

func (c *comparison) run(rules *crdify.Runner) []compat.Change {
	results := rules.Run(c.old, c.new)
	stored := false
	for _, r := range results.CRDValidation {
		for _, text := range r.Errors {
			stored = stored || r.Name == "storedVersionRemoval"
			c.whole(r.Name, text)
		}
	}
	for _, v := range c.old.Spec.Versions {
		now := validations.GetCRDVersionByName(c.new, v.Name)
		if v.Served && (now == nil && !(stored && v.Storage) || now != nil && !now.Served) {
			c.add(v.Name, "", compat.ServedVersionRemoval, "the version is no longer served")
		}
	}
	for _, v := range results.SameVersionValidation {
		c.fields(v, v.Version, v.Version)
	}
	for _, v := range results.ServedVersionValidation {
		from, to, _ := strings.Cut(v.Version, " -> ")
		c.fields(v, from, to)
	}
	return c.out
}

// whole takes a finding about the CRD as a whole. Fields that are removed are
// among them; what was below one goes with it.
func (c *comparison) whole(rule, text string) {
	removed, isField := strings.CutPrefix(text, "removed field : ")
	if !isField {
		c.add("", "", rule, text)
		return
	}
	name, property, _ := strings.Cut(removed, ".^")
	if last := property[strings.LastIndex(property, ".")+1:]; strings.HasPrefix(last, "allOf[") || strings.HasPrefix(last, "anyOf[") || strings.HasPrefix(last, "oneOf[") {
		return // no field: what has it is a finding by itself
	}
	old, now := c.schemas(c.old, name), c.schemas(c.new, name)
	if above := parent(old, "^"+property); above == "" || now[above].path != "" {
		c.add(name, "^"+property, rule, "the field is removed")
	}
}

// fields takes findings about the fields of a version, or of the later of two.
// Those of a field that is removed are left out: that is a finding of its own.
func (c *comparison) fields(v version.VersionedPropertyComparisonResult, from, to string) {
	source := c.old
	if from != to {
		source = c.new
	}
	before, now := c.schemas(source, from), c.schemas(c.new, to)
	for _, p := range v.PropertyComparisons {
		if now[p.Property].path == "" {
			if above := parent(before, p.Property); from != to && len(p.ComparisonResults) > 0 && now[above].path != "" {
				c.add(v.Version, p.Property, "existingFieldRemoval", fmt.Sprintf("%s has no such field, and there is no conversion webhook", to))
			}
			continue
		}
		was, is := before[p.Property].schema, now[p.Property].schema
		for _, r := range p.ComparisonResults {
			if accepted(r.Name, was, is) || p.Property == "^" && r.Name == "type" && was.Type == "" && is.Type == "object" { // it could be nothing else
				continue
			}
			for _, text := range r.Errors {
				switch r.Name {
				case "unhandled":
					if names := differ(was, is); len(names) > 0 {
						c.add(v.Version, p.Property, r.Name, "changed: "+strings.Join(names, ", "))
						c.out[len(c.out)-1].Path += "." + names[0]
					}
				case "required":
					_, list, _ := strings.Cut(strings.Trim(text, "]"), "[")
					for _, one := range strings.Fields(list) {
						c.add(v.Version, p.Property+"."+one, r.Name, "the field is required now")
					}
				default:
					c.add(v.Version, p.Property, r.Name, text)
				}
			}
		}
	}
}

// quantity is the pattern that controller-gen gives every resource.Quantity. What
// it does not match, no client in Go could read before either.
const quantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// widened says whether a text or a number became either of them, as quantities
// and ports did in CRDs of apiextensions.k8s.io/v1.
func widened(was, is *apiextensionsv1.JSONSchemaProps) bool {
	return was != nil && is != nil && is.XIntOrString && (was.Type == "string" || was.Type == "integer")
}

// accepted says whether a schema takes all that it did, whatever the rule finds.
func accepted(rule string, was, is *apiextensionsv1.JSONSchemaProps) bool {
	return widened(was, is) && (rule == "type" || rule == "pattern" && is.Pattern == quantity)
}

// add notes a change. Its path leads to the keyword of the field that the rule
// is called by, or to the nearest field above that is there, in the version, or
// in the later of two.
func (c *comparison) add(versions, property, rule, text string) {
	text = strings.NewReplacer(" : ", ": ", `"\"`, `"`, `\""`, `"`).Replace(inOrder(text))
	change := compat.Change{CRD: c.name, Version: versions, Field: strings.TrimPrefix(property, "^."), Rule: rule, Text: text}
	if property == "^" {
		change.Field = ""
	}
	name := versions[strings.LastIndex(versions, " ")+1:]
	i := slices.IndexFunc(c.new.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
	if i >= 0 {
		change.Path = fmt.Sprintf("spec.versions[%d]", i)
	}
	if i >= 0 && property != "" {
		now := c.schemas(c.new, name)
		at, there := now[property]
		if at.path == "" {
			at = now[parent(now, property)]
		}
		change.Path += ".schema.openAPIV3Schema" + strings.TrimPrefix(at.path, "^")
		if there && rule != "unhandled" {
			change.Path += "." + rule
		}
	}
	c.out = append(c.out, change)
}

// node is a schema and where it stands.
type node struct {
	path   string // ^.properties[spec]
	schema *apiextensionsv1.JSONSchemaProps
}

// schemas are those in a version of a CRD, by the names that the rules have for
// them, such as ^.spec.size.
func (c *comparison) schemas(crd *apiextensionsv1.CustomResourceDefinition, name string) map[string]node {
	if out, ok := c.seen[versionOf{crd, name}]; ok {
		return out
	}
	out := map[string]node{}
	c.seen[versionOf{crd, name}] = out
	v := validations.GetCRDVersionByName(crd, name)
	if v == nil {
		return out
	}
	root := field.NewPath("^")
	validations.SchemaHas(v.Schema.OpenAPIV3Schema, root, root, nil,
		func(s *apiextensionsv1.JSONSchemaProps, at, simple *field.Path, _ []*apiextensionsv1.JSONSchemaProps) bool {
			path := strings.ReplaceAll(at.String(), "additionalProperties.schema", "additionalProperties")
			out[simple.String()] = node{path, s.DeepCopy()}
			return false
		})
	return out
}

// parent is the name of the schema that has the one of that name, or "".
func parent(schemas map[string]node, name string) string {
	for above := name; above != ""; {
		above = above[:max(strings.LastIndexAny(above, ".["), 0)]
		if schemas[above].path != "" {
			return above
		}
	}
	return ""
}

// keys are the keywords of a schema with their values.
func keys(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	out := map[string]any{}
	if data, err := json.Marshal(s); err == nil {
		_ = json.Unmarshal(data, &out) // what was marshalled is an object
	}
	return out
}

// differ are the keywords that no rule compares and that are not alike. Schemas
// below one that both have are compared by themselves, and the format goes with
// the type. Lists are atomic unless they say otherwise, and an object may become
// so: who applies it owns all of it from then on.
func differ(a, b *apiextensionsv1.JSONSchemaProps) []string {
	was, is := keys(a), keys(b)
	all := maps.Clone(was)
	maps.Copy(all, is)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		compared := slices.Contains(crdify.DefaultRegistry().Registered(), key)
		switch key {
		case "properties", "items":
			compared = true
		case "format":
			compared = a.Type != b.Type
		case "additionalProperties", "not":
			_, wasOne := was[key].(map[string]any)
			_, isOne := is[key].(map[string]any)
			compared = wasOne && isOne
		case "allOf", "anyOf", "oneOf":
			before, _ := was[key].([]any)
			now, _ := is[key].([]any)
			compared = len(before) == len(now) || key == "anyOf" && widened(a, b)
		case "x-kubernetes-int-or-string":
			compared = widened(a, b)
		case "x-kubernetes-list-type":
			compared = cmp.Or(was[key], any("atomic")) == cmp.Or(is[key], any("atomic"))
		case "x-kubernetes-map-type":
			compared = is[key] == "atomic" || was[key] == nil && is[key] == "granular"
		}
		if !compared && !reflect.DeepEqual(was[key], is[key]) {
			out = append(out, key)
		}
	}
	return out
}
