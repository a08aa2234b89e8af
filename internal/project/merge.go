package project

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// mergeMap brings node from the state was to the state now. What is equal in
// both is not touched, so that comments, order and fields that neither names
// stay as they are.
func mergeMap(node *yaml.Node, was, now map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if reflect.DeepEqual(was[key], now[key]) {
			continue
		}
		if err := mergeKey(node, key, was[key], now[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	for key := range was {
		if _, still := now[key]; !still {
			yamledit.Remove(node, key)
		}
	}
	return nil
}

func mergeKey(node *yaml.Node, key string, was, now any) error {
	old := yamledit.Value(node, key)
	if old == nil {
		return setKey(node, key, now)
	}
	nowMap, isMap := now.(map[string]any)
	wasMap, wasIt := was.(map[string]any)
	if isMap && wasIt && old.Kind == yaml.MappingNode {
		return mergeMap(old, wasMap, nowMap)
	}
	nowList, isList := now.([]any)
	wasList, wasIt := was.([]any)
	if isList && wasIt && key == "resources" && old.Kind == yaml.SequenceNode {
		return mergeResources(old, wasList, nowList)
	}
	return setKey(node, key, now)
}

// mergeResources matches the entries by group, version and kind.
func mergeResources(node *yaml.Node, was, now []any) error {
	before := map[string]map[string]any{}
	for _, item := range was {
		m, _ := item.(map[string]any)
		before[identity(m)] = m
	}
	entries := map[string]*yaml.Node{}
	for _, n := range node.Content {
		var m map[string]any
		if err := n.Decode(&m); err != nil {
			return err
		}
		entries[identity(m)] = n
	}
	for _, item := range now {
		m, _ := item.(map[string]any)
		id := identity(m)
		if n := entries[id]; n != nil {
			if err := mergeMap(n, before[id], m); err != nil {
				return err
			}
			delete(before, id)
			continue
		}
		n, err := encode(m)
		if err != nil {
			return err
		}
		node.Content = append(node.Content, n)
	}
	for id := range before { // and is no longer there
		node.Content = slices.DeleteFunc(node.Content, func(n *yaml.Node) bool { return n == entries[id] })
	}
	return nil
}

// identity is what tells one resource of a project from another.
func identity(m map[string]any) string {
	field := func(key string) any { return cmp.Or(m[key], any("")) }
	return fmt.Sprintf("%v.%v/%v %v", field("group"), field("domain"), field("version"), field("kind"))
}

// setKey replaces the value of key, or adds it after the last lesser key: the
// tools that share the file keep its fields sorted.
func setKey(node *yaml.Node, key string, value any) error {
	v, err := encode(value)
	if err != nil {
		return err
	}
	if old := yamledit.Value(node, key); old != nil {
		v.HeadComment, v.LineComment, v.FootComment = old.HeadComment, old.LineComment, old.FootComment
		*old = *v
		return nil
	}
	at := 0
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Value < key {
			at = i + 2
		}
	}
	k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}
	node.Content = slices.Insert(node.Content, at, k, v)
	return nil
}

func encode(value any) (*yaml.Node, error) {
	n := &yaml.Node{}
	return n, n.Encode(value)
}
