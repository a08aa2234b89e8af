// Package translations has kubectl read its translations only where kubectl
// itself runs, in another language than English. Its packages ask for them while
// they are initialized, in every process that has kubectl in it, and reading them
// takes a fifth of the time until main. Like k8s.io/kubectl/pkg/util/i18n asks
// for, this package is initialized before those: it imports nothing else of
// kubectl, and its path sorts before theirs.
package translations

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/kubectl/pkg/util/i18n"
)

var _ = i18n.SetLoadTranslationsFunc(func() error {
	if !needed(os.Args, os.Getenv) {
		return nil
	}
	return i18n.LoadTranslations("kubectl", nil)
})

// needed says whether a process is kubectl, by the program's name or the first
// argument, and its environment asks for a language other than English.
func needed(args []string, getenv func(string) string) bool {
	isKubectl := slices.ContainsFunc(args[:min(2, len(args))], func(arg string) bool {
		return strings.TrimSuffix(filepath.Base(arg), ".exe") == "kubectl"
	})
	if !isKubectl {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if language := getenv(name); language != "" {
			return language != "C" && language != "POSIX" && !strings.HasPrefix(language, "C.") && !strings.HasPrefix(language, "en")
		}
	}
	return false
}
