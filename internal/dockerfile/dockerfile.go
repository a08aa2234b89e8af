// Package dockerfile takes Dockerfiles apart into instructions and words. What
// they do is its callers' business. BuildKit's parser does the same, and would
// bring the requirements of its daemon into go.mod.
package dockerfile

import (
	"fmt"
	"slices"
	"strings"
)

// Instruction is one of a Dockerfile.
type Instruction struct {
	Name  string // in capitals, such as COPY
	Args  string // what follows it, in one line and without comments
	Text  string // all of it as it is written, with its continuation lines
	Line  int    // of its beginning, from 1
	Above string // the comment that it stands under, all its lines, with no empty line between
}

// Parse takes a Dockerfile apart. An instruction goes on in the next line after a
// backslash; comments and empty lines may stand between. So does one with
// here-documents, up to the end of the last.
func Parse(data []byte) []Instruction {
	var all []Instruction
	var ends []string // of here-documents
	open, above, last, n := false, "", "", 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		text := strings.TrimSpace(line)
		if len(ends) > 0 {
			in := &all[len(all)-1]
			in.Text += "\n" + line
			if line == ends[0] || "-"+strings.TrimLeft(line, "\t") == ends[0] {
				ends = ends[1:]
			} else if strings.EqualFold(in.Args[:3], "RUN") && !strings.HasPrefix(text, "#") { // it is the command
				in.Args += " " + text
			}
			continue
		}
		aside := text == "" || text[0] == '#'
		switch {
		case open:
			all[len(all)-1].Text += "\n" + line
		case aside && text != "" && strings.HasPrefix(last, "#"):
			above += "\n" + text
		case aside:
			above = text
		default:
			all = append(all, Instruction{Text: line, Line: n, Above: above})
		}
		last = text
		if aside {
			continue
		}
		in := &all[len(all)-1]
		text, open = strings.CutSuffix(text, `\`)
		in.Args = strings.TrimSpace(in.Args + " " + strings.ReplaceAll(text, "\t", " "))
		if !open {
			ends = documents(in.Args)
		}
	}
	for i := range all {
		in := &all[i]
		in.Name, in.Args, _ = strings.Cut(in.Args, " ")
		in.Name, in.Args = strings.ToUpper(in.Name), strings.TrimSpace(in.Args)
	}
	return slices.DeleteFunc(all, func(in Instruction) bool { return in.Name == "" })
}

// documents are the lines that end an instruction's here-documents. Tabs may come
// before one with a - in front.
func documents(instruction string) (ends []string) {
	name, args, _ := strings.Cut(instruction, " ")
	if !slices.Contains([]string{"ADD", "COPY", "RUN"}, strings.ToUpper(name)) {
		return nil
	}
	for _, w := range Words(args) {
		if end, ok := strings.CutPrefix(strings.TrimLeft(w, "0123456789"), "<<"); ok && end != "" && end[0] != '<' {
			end, _ = unquote(end)
			ends = append(ends, end)
		}
	}
	return ends
}

// Words splits arguments at spaces outside of quotes. Quotes and backslashes stay
// as they are written.
func Words(args string) []string {
	var words []string
	word, quote, escaped := "", rune(0), false
	for _, r := range args {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && r == ' ':
			if word != "" {
				words = append(words, word)
			}
			word = ""
			continue
		}
		word += string(r)
	}
	if word != "" {
		words = append(words, word)
	}
	return words
}

// Values are the words of arguments without quotes and backslashes. A quote that
// is not closed is an error.
func Values(args string) ([]string, error) {
	words := Words(args)
	for i, w := range words {
		var err error
		if words[i], err = unquote(w); err != nil {
			return nil, err
		}
	}
	return words, nil
}

func unquote(word string) (string, error) {
	var value strings.Builder
	var quote byte
	for i := 0; i < len(word); i++ {
		c := word[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(word):
			i++
			value.WriteByte(word[i])
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		default:
			value.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", fmt.Errorf("a quote %c is not closed", quote)
	}
	return value.String(), nil
}
