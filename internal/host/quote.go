package host

import (
	"runtime"
	"strings"
)

// ShellQuote makes a word that a POSIX shell reads as s.
func ShellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellJoin is a command line that a POSIX shell reads as the words.
func ShellJoin(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = ShellQuote(w)
	}
	return strings.Join(quoted, " ")
}

// Export is what a user types to set a variable for the programs of a terminal, on
// Windows in PowerShell.
func Export(name, value string) string { return export(runtime.GOOS, name, value) }

func export(goos, name, value string) string {
	if goos == "windows" {
		return "$env:" + name + " = '" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return "export " + name + "=" + ShellQuote(value)
}
