package v4

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
)

// ScaffoldKey is the entry among PROJECT's plugins with what was asked for and
// no other field says: the version of mysdk whose scaffold the project has
// and, for each of its resources, the runs of create webhook and the version that
// its types were copied from.
const ScaffoldKey = "scaffold.mysdk.dev/v1"

// DeployImageKey is the entry with what the pattern deployment runs. It is that
// of kubebuilder's deploy-image plugin, so that 'kubebuilder alpha generate'
// writes these kinds with a controller for a Deployment, too.
const DeployImageKey = "deploy-image.go.kubebuilder.io/v1-alpha"

// Fields of both entries.
const (
	resourcesField = "resources"
	optionsField   = "options"
	patternField   = "pattern"
	webhooksField  = "webhooks"
	certsField     = "certs"
	fromField      = "from"
)

// operandFields are the options of deploy-image, by the flag of create api.
func operandFields() map[string]string {
	return map[string]string{
		"image": "image", "image-container-command": "containerCommand",
		"image-container-port": "containerPort", "run-as-user": "runAsUser",
	}
}

// record is what PROJECT has of a resource under the key of a plugin. Fields
// of newer versions are kept.
type record struct {
	config config.Config
	key    string
	all    map[string]any // under the key
	list   []any          // of all resources
	at     int            // of this one, the length of the list where it has none
	entry  map[string]any
}

func readRecord(c config.Config, key string, gvk resource.GVK) (*record, error) {
	r := &record{config: c, key: key, all: map[string]any{}}
	if err := c.DecodePluginConfig(key, &r.all); err != nil && !errors.As(err, &config.PluginKeyNotFoundError{}) {
		return nil, fmt.Errorf("reading %s of PROJECT: %w", key, err)
	}
	id := map[string]any{"domain": gvk.Domain, "group": gvk.Group, "kind": gvk.Kind, "version": gvk.Version}
	maps.DeleteFunc(id, func(_ string, value any) bool { return value == "" })
	r.list, _ = r.all[resourcesField].([]any)
	for r.at = range r.list {
		m, _ := r.list[r.at].(map[string]any)
		if m["domain"] == id["domain"] && m["group"] == id["group"] && m["kind"] == id["kind"] && m["version"] == id["version"] {
			r.entry = m
			return r, nil
		}
	}
	r.at, r.entry = len(r.list), id
	return r, nil
}

// isThere says whether PROJECT has something of the resource under the key.
func (r *record) isThere() bool { return r.at < len(r.list) }

// write puts the entry into PROJECT.
func (r *record) write() error {
	if r.isThere() {
		r.list[r.at] = r.entry
	} else {
		r.list = append(r.list, r.entry)
	}
	return r.encode()
}

// remove takes the entry out of PROJECT.
func (r *record) remove() error {
	if !r.isThere() {
		return nil
	}
	r.list = slices.Delete(r.list, r.at, r.at+1)
	r.at = len(r.list)
	return r.encode()
}

func (r *record) encode() error {
	if r.all == nil { // the key was there, without a value
		r.all = map[string]any{}
	}
	r.all[resourcesField] = r.list
	if len(r.list) == 0 {
		delete(r.all, resourcesField)
	}
	if err := r.config.EncodePluginConfig(r.key, r.all); err != nil {
		return fmt.Errorf("recording %s in PROJECT: %w", r.key, err)
	}
	return nil
}

// recordOperand writes into PROJECT what the pattern deployment runs. Types
// that come without their controller are recorded under our own key: the plugin
// of kubebuilder writes both.
func (s *createAPISubcommand) recordOperand() error {
	if !s.doResource {
		return nil
	}
	both, err := readRecord(s.config, DeployImageKey, s.resource.GVK)
	if err != nil {
		return err
	}
	types, err := readRecord(s.config, ScaffoldKey, s.resource.GVK)
	if err != nil {
		return err
	}
	options := s.operand.options(s.resource.Kind)
	switch {
	case s.from != "":
		err := errors.Join(both.remove(), types.forget())
		types.entry[fromField] = s.from
		return errors.Join(err, types.write())
	case s.pattern != patternDeployment:
		return errors.Join(both.remove(), types.forget())
	case s.doController:
		both.entry[optionsField] = options
		return errors.Join(both.write(), types.forget())
	}
	types.entry[patternField], types.entry[optionsField] = s.pattern, options
	return errors.Join(both.remove(), types.write())
}

// forget takes out of an entry what its types were made from, and all of it where
// nothing else is in it.
func (r *record) forget() error {
	if r.entry[patternField] == nil && r.entry[fromField] == nil {
		return nil
	}
	for _, field := range []string{patternField, optionsField, fromField} {
		delete(r.entry, field)
	}
	if r.entry[webhooksField] == nil {
		return r.remove()
	}
	return r.write()
}

// options are what the flags have come to, as deploy-image has it.
func (o *operand) options(kind string) map[string]any {
	all := map[string]any{
		"image": or(o.image, defaultImage(kind)), "containerCommand": o.command,
		"containerPort": o.port, "runAsUser": o.user,
	}
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == "" })
	return all
}

// recordRun adds this run to what PROJECT has of the resource's webhooks. The
// order of runs is that of what they wrote.
func (s *createWebhookSubcommand) recordRun() error {
	r, err := readRecord(s.config, ScaffoldKey, s.resource.GVK)
	if err != nil {
		return err
	}
	had := &resource.Webhooks{}
	if s.existing != nil && s.existing.Webhooks != nil {
		had = s.existing.Webhooks
	}
	run := map[string]any{}
	for name, isNew := range map[string]bool{
		"defaulting": s.defaulting && !had.Defaulting,
		"validation": s.validation && !had.Validation,
		"conversion": s.conversion && !had.Conversion,
	} {
		if isNew {
			run[name] = true
		}
	}
	if len(run) == 0 {
		return nil // --force, for what was recorded then
	}
	run[certsField] = s.certs
	runs, _ := r.entry[webhooksField].([]any)
	r.entry[webhooksField] = append(runs, run)
	return r.write()
}

// Recorded returns what PROJECT records of the commands that made a resource:
// the flags of the run of create api that wrote its types, and those of each
// run of create webhook, in their order. What nothing is recorded of, in a
// project of another tool, has the pattern blank, and its webhooks come last
// with certs as the source of their certificates.
func (Plugin) Recorded(c config.Config, res resource.Resource, certs string) (api map[string]string, webhooks []map[string]string, err error) {
	both, err := readRecord(c, DeployImageKey, res.GVK)
	if err != nil {
		return nil, nil, err
	}
	types, err := readRecord(c, ScaffoldKey, res.GVK)
	if err != nil {
		return nil, nil, err
	}
	api = map[string]string{"pattern": patternBlank, "controller": strconv.FormatBool(res.Controller)}
	for _, r := range []*record{both, types} {
		options, ok := r.entry[optionsField].(map[string]any)
		if !ok || !runnable(options) {
			continue
		}
		api["pattern"] = patternDeployment
		for flag, field := range operandFields() {
			if value := options[field]; value != nil || flag == "run-as-user" {
				api[flag] = text(value)
			}
		}
		if r == types {
			api["controller"] = "false"
		}
		break
	}
	if from := text(types.entry[fromField]); from != "" {
		api["from"] = from
	}
	return api, types.webhookFlags(res.Webhooks, certs), nil
}

// runnable says whether create api takes the options. Others are those of
// another tool, whose controller has no pattern of ours.
func runnable(options map[string]any) bool {
	o := operand{
		image: text(options["image"]), command: text(options["containerCommand"]),
		port: text(options["containerPort"]), user: text(options["runAsUser"]),
	}
	return o.check(&createAPISubcommand{doResource: true, pattern: patternDeployment}) == nil
}

// text is a scalar of PROJECT as a flag has it: a port may be recorded as a
// number.
func text(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// webhookFlags are the flags of the runs that wrote a resource's webhooks.
func (r *record) webhookFlags(has *resource.Webhooks, certs string) []map[string]string {
	if has == nil {
		return nil
	}
	left := map[string]bool{"defaulting": has.Defaulting, "validation": has.Validation, "conversion": has.Conversion}
	var out []map[string]string
	add := func(run map[string]any) {
		flags := map[string]string{}
		for name, flag := range map[string]string{
			"defaulting": "defaulting", "validation": "programmatic-validation", "conversion": "conversion",
		} {
			if run[name] == true && left[name] {
				flags[flag], left[name] = "true", false
			}
		}
		if flags["conversion"] != "" && run[migrateField] == true {
			flags["migrate-storage"] = "true"
		}
		if len(flags) > 0 {
			flags["certs"] = text(run[certsField])
			out = append(out, flags)
		}
	}
	list, _ := r.entry[webhooksField].([]any)
	for _, item := range list {
		run, _ := item.(map[string]any)
		add(run)
	}
	rest := map[string]any{certsField: certs}
	for name, still := range left {
		rest[name] = still
	}
	add(rest)
	return out
}
