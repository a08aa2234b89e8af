package v4

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
)

// What the pattern deployment makes of its flags.
var (
	imageConst     = regexp.MustCompile(`(?m)^\t[a-z0-9]+Image = ("[^"\n]*")$`)
	operandPattern = regexp.MustCompile(`(?m)^// [A-Za-z0-9]+ runs pods of (\S+)\.$`)
	commandPattern = regexp.MustCompile(`(?m)^\t\tWithCommand\((.*)\)\.$`)
	portPattern    = regexp.MustCompile(`\+kubebuilder:default=([0-9]+)\n\t// \+optional\n\tContainerPort `)
	userPattern    = regexp.MustCompile(`(?m)^\t*WithRunAsUser\(([0-9]+)\)`)
)

// Variants lists the runs of create api that may have made a resource with an
// API: PROJECT says neither the pattern nor what it runs. Each variant is the
// flags of one run, or of several. read returns the text of a project's file,
// nothing where there is none.
func (Plugin) Variants(c config.Config, res resource.Resource, read func(name string) []byte) [][]map[string]string {
	s := &createAPISubcommand{config: c, resource: &res}
	kind := strings.ToLower(res.Kind)
	var controller []byte
	if res.Controller { // otherwise it is that of another version
		controller = read(path.Join(s.controllerDir(), kind+"_controller.go"))
	}
	deployment := operandFlags(controller, read(path.Join(s.apiDir(), kind+"_types.go")))
	deployment["pattern"] = patternDeployment
	blank := map[string]string{"pattern": patternBlank}
	if !res.Controller {
		deployment["controller"], blank["controller"] = "false", "false"
		return [][]map[string]string{{deployment}, {blank}}
	}
	deployment["controller"], blank["controller"] = "true", "true"
	alone := map[string]string{"pattern": patternDeployment, "controller": "false"}
	for _, flag := range []string{"image", "image-container-port"} {
		if value := deployment[flag]; value != "" {
			alone[flag] = value
		}
	}
	return [][]map[string]string{{deployment}, {blank}, {alone, {"resource": "false"}}}
}

// operandFlags reads the flags for the operand off the code that they made.
func operandFlags(controller, types []byte) map[string]string {
	flags := map[string]string{}
	if m := operandPattern.FindSubmatch(types); m != nil {
		flags["image"] = string(m[1])
	}
	if m := portPattern.FindSubmatch(types); m != nil {
		flags["image-container-port"] = string(m[1])
	}
	m := imageConst.FindSubmatch(controller)
	if m == nil {
		return flags
	}
	if image, err := strconv.Unquote(string(m[1])); err == nil {
		flags["image"] = image
	}
	flags["run-as-user"] = ""
	if m := userPattern.FindSubmatch(controller); m != nil {
		flags["run-as-user"] = string(m[1])
	}
	if m := commandPattern.FindSubmatch(controller); m != nil {
		if command, ok := arguments(string(m[1])); ok {
			flags["image-container-command"] = command
		}
	}
	return flags
}

// arguments joins the quoted strings of an argument list by commas.
func arguments(list string) (string, bool) {
	var out []string
	for list != "" {
		quoted, err := strconv.QuotedPrefix(list)
		if err != nil {
			return "", false
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return "", false
		}
		out = append(out, word)
		list = strings.TrimPrefix(list[len(quoted):], ", ")
	}
	return strings.Join(out, ","), true
}
