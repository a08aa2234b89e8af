package removedapis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// document is a JSON object whose values are left as they are.
type document map[string]json.RawMessage

// text is a value that is a string, else "".
func (d document) text(key string) string {
	var s string
	_ = json.Unmarshal(d[key], &s) // another type is none of ours
	return s
}

func (d document) set(key string, value any) error {
	data, err := json.Marshal(value)
	if err == nil {
		d[key] = data
	}
	return err
}

// rename replaces one version by another in an object, a list, a watch event or
// a version's list of resources.
func (d document) rename(from, to string) error {
	for _, key := range []string{"apiVersion", "groupVersion"} {
		if d.text(key) == from {
			if err := d.set(key, to); err != nil {
				return err
			}
		}
	}
	if d["type"] == nil || d["object"] == nil {
		return nil
	}
	var inner document
	if err := json.Unmarshal(d["object"], &inner); err != nil {
		return err
	}
	if err := inner.rename(from, to); err != nil {
		return err
	}
	return d.set("object", inner)
}

// addVersions adds the removed versions to a list of groups, or to a group.
func (d document) addVersions() error {
	switch d.text("kind") {
	case "APIGroup":
		return change(d, addVersions)
	case "APIGroupList":
		return change(d, func(l *metav1.APIGroupList) {
			for i := range l.Groups {
				addVersions(&l.Groups[i])
			}
		})
	}
	return nil
}

// change changes a document as what it stands for.
func change[T any](d document, how func(*T)) error {
	var typed T
	data, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(data, &typed)
	}
	if err != nil {
		return err
	}
	how(&typed)
	if data, err = json.Marshal(typed); err != nil {
		return err
	}
	return json.Unmarshal(data, &d)
}

// protobufPrefix begins a body in Kubernetes' protobuf format.
const protobufPrefix = "k8s\x00"

// maxBody bounds a request's body, in bytes, as the API server does.
const maxBody = 3 << 20

// renameBody names another version in a request's body.
func renameBody(req *http.Request, from, to string) error {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if len(data) > 0 && len(data) <= maxBody {
		if data, err = renamed(req.Header.Get("Content-Type"), data, from, to); err != nil {
			return fmt.Errorf("the body: %w", err)
		}
	}
	// What is too large is for the API server to refuse.
	req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(data), req.Body))
	req.ContentLength = -1
	if len(data) <= maxBody {
		req.ContentLength = int64(len(data))
	}
	req.Header.Del("Content-Length")
	return nil
}

// renamed is a body of a request or answer with one API version in the place of
// another. In protobuf the version is in the envelope, so that the object itself is
// not decoded; a JSON patch names none.
func renamed(contentType string, data []byte, from, to string) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(data, []byte(protobufPrefix)); ok {
		var u runtime.Unknown
		if err := u.Unmarshal(rest); err != nil {
			return nil, err
		}
		if u.APIVersion == from {
			u.APIVersion = to
		}
		out, err := u.Marshal()
		return append([]byte(protobufPrefix), out...), err
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = "application/json" // as the API server takes it
	}
	switch {
	case kind == "application/json-patch+json":
		return data, nil // it names no version
	case strings.HasSuffix(kind, "yaml"):
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, err
		}
	case !strings.HasSuffix(kind, "json"):
		return nil, fmt.Errorf("%s of a version that was removed is not supported", kind)
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if err := doc.rename(from, to); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}
