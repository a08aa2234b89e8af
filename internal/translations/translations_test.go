package translations

import "testing"

func TestNeeded(t *testing.T) {
	tests := map[string]struct {
		args []string
		env  map[string]string
		want bool
	}{
		"the server":          {[]string{"mysdk-cluster", "serve"}, map[string]string{"LANG": "de_DE.UTF-8"}, false},
		"no argument":         {[]string{"mysdk-cluster"}, map[string]string{"LANG": "de_DE.UTF-8"}, false},
		"kubectl":             {[]string{"mysdk-cluster", "kubectl"}, nil, false},
		"kubectl in English":  {[]string{"mysdk-cluster", "kubectl"}, map[string]string{"LANG": "en_US.UTF-8"}, false},
		"kubectl without one": {[]string{"mysdk-cluster", "kubectl"}, map[string]string{"LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8"}, false},
		"kubectl in German":   {[]string{"mysdk-cluster", "kubectl"}, map[string]string{"LANG": "de_DE.UTF-8"}, true},
		"a link to it":        {[]string{"/bin/kubectl", "get"}, map[string]string{"LANG": "de_DE.UTF-8"}, true},
		"the stronger one":    {[]string{"mysdk-cluster", "kubectl"}, map[string]string{"LC_MESSAGES": "ja_JP.UTF-8", "LANG": "en_US.UTF-8"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := needed(test.args, func(name string) string { return test.env[name] }); got != test.want {
				t.Errorf("needed() = %v, want %v", got, test.want)
			}
		})
	}
}
