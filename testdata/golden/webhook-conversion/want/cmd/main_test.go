/*
Copyright 2026.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"crypto/tls"
	"flag"
	"maps"
	"slices"
	"testing"
)

func TestWatchNamespaces(t *testing.T) {
	for list, want := range map[string][]string{
		"":           nil,
		" , ":        nil,
		"one":        {"one"},
		"one, two,,": {"one", "two"},
	} {
		if got := watchNamespaces(list); !slices.Equal(got, want) {
			t.Errorf("watchNamespaces(%q) = %q, want %q", list, got, want)
		}
	}
}

func TestManagerOptions(t *testing.T) {
	var opts options
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	opts.bindFlags(flags)
	if err := flags.Parse([]string{"--leader-elect", "--metrics-bind-address=:8443"}); err != nil {
		t.Fatal(err)
	}

	all := opts.manager(nil)
	if all.Cache.DefaultNamespaces != nil {
		t.Errorf("without namespaces the cache is restricted to %v", all.Cache.DefaultNamespaces)
	}
	if !all.LeaderElection || all.LeaderElectionID == "" {
		t.Errorf("leader election is %t with lease %q", all.LeaderElection, all.LeaderElectionID)
	}
	if all.Metrics.BindAddress != ":8443" || all.Metrics.FilterProvider == nil {
		t.Error("the metrics are not served on :8443 with a check of who reads them")
	}

	two := opts.manager([]string{"one", "two"})
	if got := slices.Sorted(maps.Keys(two.Cache.DefaultNamespaces)); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the cache watches %q", got)
	}
}

func TestHTTP2IsOffUnlessAskedFor(t *testing.T) {
	var config tls.Config
	for _, option := range (&options{}).tls() {
		option(&config)
	}
	if !slices.Equal(config.NextProtos, []string{"http/1.1"}) {
		t.Errorf("the protocols are %q", config.NextProtos)
	}
	if got := (&options{enableHTTP2: true}).tls(); got != nil {
		t.Errorf("--enable-http2 still leaves %d TLS options", len(got))
	}
}
