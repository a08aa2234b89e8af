package main

import (
	"fmt"
	"os"
	_ "unsafe" // for go:linkname

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	baseversion "k8s.io/component-base/version"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/example/mysdk/internal/controlplane"
)

// gitVersion is what `kubectl version` and user agents report. Only the linker
// can set it, which builds by the go command alone do not ask to, and
// SetDynamicVersion takes no other version than it.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

// kubectl runs kubectl with args. On an error it prints it as kubectl does and
// ends the process with kubectl's exit code.
func kubectl(args []string) error {
	gitVersion = controlplane.Version()
	if err := baseversion.SetDynamicVersion(gitVersion); err != nil {
		return fmt.Errorf("set kubectl's version: %w", err)
	}
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(-1).WithWarningPrinter(streams),
		IOStreams:     streams,
	})
	command.SetArgs(args)
	util.CheckErr(cli.RunNoErrOutput(command))
	return nil
}
