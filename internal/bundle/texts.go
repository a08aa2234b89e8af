package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	sigsyaml "sigs.k8s.io/yaml"
)

// texts makes texts of the numbers and booleans that stand where a
// ClusterServiceVersion has a text, such as value: 5 in a Deployment's env.
// Readers of YAML that know the type do so, operator-sdk's too; OLM reads JSON
// and refuses the bundle.
func (b *csvBuilder) texts() error {
	data, err := sigsyaml.Marshal(b.csv.Object)
	if err != nil {
		return fmt.Errorf("write the ClusterServiceVersion: %w", err)
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := sigsyaml.Unmarshal(data, csv); err != nil {
		// The rest of it is no worse for that, and 'bundle validate' says where.
		b.note("OLM cannot read the ClusterServiceVersion: %v", err)
		return nil
	}
	typed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(csv)
	if err != nil {
		return fmt.Errorf("read the ClusterServiceVersion: %w", err)
	}
	var fields []string
	reword(b.csv.Object, typed, "", &fields)
	if len(fields) > 0 {
		b.note("numbers and booleans in place of strings are written as strings: %s", strings.Join(fields, ", "))
	}
	return nil
}

// reword returns have with the texts of want, which is the same value read by
// its type, in the place of numbers and booleans, whose fields it notes. Those that
// the type does not know stay as they are.
func reword(have, want any, field string, fields *[]string) any {
	switch want := want.(type) {
	case string:
		// A quantity is a text to the type, and may be a number.
		switch have.(type) {
		case bool, int64, float64:
			if !strings.Contains(field, ".resources.") && !strings.HasSuffix(field, ".sizeLimit") {
				*fields = append(*fields, field)
				return want
			}
		}
	case map[string]any:
		mapping, _ := have.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(mapping)) {
			if v, ok := want[k]; ok {
				mapping[k] = reword(mapping[k], v, strings.TrimPrefix(field+"."+k, "."), fields)
			}
		}
	case []any:
		list, _ := have.([]any)
		for i := range min(len(list), len(want)) {
			list[i] = reword(list[i], want[i], fmt.Sprintf("%s[%d]", field, i), fields)
		}
	}
	return have
}
