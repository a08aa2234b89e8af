package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/example/mysdk/internal/clierr"
)

// configFile is the project's configuration of mysdk itself.
const configFile = ".mysdk.yaml"

// allowedKey lists contexts of real clusters that mysdk may write to without
// being told --context.
const allowedKey = "allowed-contexts"

// configure fills flags that were not typed from the layers below the command
// line: MYSDK_<FLAG> variables, then .mysdk.yaml in the project, then the
// user's config.yaml. Keys are the names of flags. Those that were typed are
// noted before that: to pflag the others look the same.
func (a *app) configure(c *cobra.Command) error {
	a.given = map[string]bool{}
	c.Flags().Visit(func(f *pflag.Flag) { a.given[f.Name] = true })
	v := viper.New()
	v.SetConfigType("yaml")
	for _, file := range a.configFiles() {
		data, err := a.host.Files.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return clierr.Usagef("make it readable, or remove it", "read the configuration: %w", err)
		}
		if err := v.MergeConfig(strings.NewReader(string(data))); err != nil {
			return clierr.Usagef("its lines look like 'watch-namespace: default'", "%s: %w", file, err)
		}
	}
	if err := checkKeys(c.Root(), v.AllKeys()); err != nil {
		return err
	}
	a.allowed = v.GetStringSlice(allowedKey)
	var err error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if err == nil && !f.Changed {
			err = a.fill(c, f, v)
		}
	})
	return err
}

// fill sets a flag from the environment or the files.
func (a *app) fill(c *cobra.Command, f *pflag.Flag, v *viper.Viper) error {
	env := "MYSDK_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
	value, from := a.host.Getenv(env), env
	if value == "" && v.IsSet(f.Name) {
		value, from = strings.Join(v.GetStringSlice(f.Name), ","), configFile+" or config.yaml"
		if _, isList := v.Get(f.Name).([]any); !isList {
			value = v.GetString(f.Name)
		}
	}
	if value == "" {
		return nil
	}
	if err := c.Flags().Set(f.Name, value); err != nil {
		return clierr.Usagef("correct it there, or pass --"+f.Name, "%s from %s: %w", f.Name, from, err)
	}
	return nil
}

// configFiles are the files of the layers, the weakest first.
func (a *app) configFiles() []string {
	var files []string
	if dir := a.host.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		files = append(files, filepath.Join(dir, "mysdk", "config.yaml"))
	} else if home := a.host.Getenv("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".config", "mysdk", "config.yaml"))
	}
	return append(files, filepath.Join(a.host.Dir, configFile))
}

// checkKeys refuses a key that no command has a flag for: a misspelt one would
// silently do nothing.
func checkKeys(root *cobra.Command, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	names := map[string]bool{allowedKey: true}
	list := []string{allowedKey}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		add := func(f *pflag.Flag) {
			if !names[f.Name] {
				names[f.Name] = true
				list = append(list, f.Name)
			}
		}
		c.LocalFlags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for _, key := range keys {
		if names[key] {
			continue
		}
		hint := "keys are the names of flags"
		if near := clierr.Closest(key, list); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return clierr.Usagef(hint, "configuration: unknown key %q in %s or config.yaml", key, configFile)
	}
	return nil
}
