package legacy

import (
	"slices"

	"github.com/spf13/cobra"
)

// LeaveWordsToTest takes the old verbs below test out of the tree, unless args
// name one right behind it. Anywhere else the words are values of flags that
// cobra does not know, as in 'mysdk test -tags cluster'.
func LeaveWordsToTest(root *cobra.Command, args []string) {
	for _, c := range root.Commands() {
		if c.Name() != "test" {
			continue
		}
		next := slices.Index(args, c.Name()) + 1
		for _, verb := range c.Commands() {
			if next == 0 || next == len(args) || args[next] != verb.Name() {
				c.RemoveCommand(verb)
			}
		}
	}
}
