package controlplane

import (
	"flag"
	"fmt"
	"io"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// quiet sends what the components log to w: at verbosity 0 errors only, else
// all that klog logs at that verbosity.
func quiet(w io.Writer, verbosity int) error {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	settings := map[string]string{
		"logtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true",
		"v": strconv.Itoa(verbosity),
	}
	for name, value := range settings {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("set up logging: %w", err)
		}
	}
	for _, severity := range []string{"INFO", "WARNING"} {
		if verbosity == 0 {
			klog.SetOutputBySeverity(severity, io.Discard)
		} else {
			klog.SetOutputBySeverity(severity, w)
		}
	}
	klog.SetOutputBySeverity("ERROR", w)
	klog.SetOutputBySeverity("FATAL", w)
	// Components warn themselves of APIs that are going to be deprecated.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	return nil
}
