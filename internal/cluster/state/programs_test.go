package state

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestControlPrograms(t *testing.T) {
	one := Program{Image: "a/b:v1", Workload: WorkloadName("ns", "Deployment", "op"), Path: "/bin/op", Args: []string{"run"}, ID: "sha256:1", Source: "here", Project: "/p"}
	var seen []string
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.String())
		switch r.Method {
		case http.MethodGet:
			if err := json.NewEncoder(w).Encode([]Program{one}); err != nil {
				t.Error(err)
			}
		case http.MethodPut:
			var got Program
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil || cmp.Diff(one, got) != "" {
				t.Errorf("it got %+v, %v", got, err)
			}
		}
	}))
	list, err := c.Programs(t.Context())
	if err != nil || cmp.Diff([]Program{one}, list) != "" {
		t.Errorf("Programs() = %+v, %v", list, err)
	}
	if err := c.SetProgram(t.Context(), one); err != nil {
		t.Error(err)
	}
	if err := c.RemoveProgram(t.Context(), "a/b:v1", one.Workload); err != nil {
		t.Error(err)
	}
	want := []string{"GET /programs", "PUT /programs", "DELETE /programs?image=a%2Fb%3Av1&workload=ns%2FDeployment%2Fop"}
	if d := cmp.Diff(want, seen); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

func TestControlPassesRefusalsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		code int
		text string
		want string
	}{
		"its own words":   {http.StatusUnprocessableEntity, "no such program\n", "ask the control plane: no such program"},
		"no words":        {http.StatusUnprocessableEntity, "", "422"},
		"another failure": {http.StatusInternalServerError, "secret", "500"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, tc.text, tc.code) }))
			if err := c.SetProgram(t.Context(), Program{}); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("SetProgram() = %v, want %s", err, tc.want)
			}
		})
	}
}
