// Command main is the operator.
package main

import (
	_ "example.com/apis/internal/controller"
	// +kubebuilder:scaffold:imports
)

func main() {
	// +kubebuilder:scaffold:builder
}
