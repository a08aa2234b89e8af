package migrate

import (
	"slices"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// methodsOf are the texts of a type's methods, by their names.
func (m *migration) methodsOf(dir, kind string) map[string]string {
	out := map[string]string{}
	for f := range m.parse(inDir(m.files, dir)) {
		for fn := range f.Functions() {
			if goedit.Receiver(fn) == kind {
				out[fn.Name.Name] = f.Text(fn)
			}
		}
	}
	return out
}

// conversions finds out by the types' methods which versions are converted to
// which: PROJECT did not always know, and never of the spokes. The entries are
// those of PROJECT, in the order of m.apis.
func (m *migration) conversions(entries []map[string]any) {
	for i, hub := range m.apis {
		webhooks, _ := entries[i]["webhooks"].(map[string]any)
		claimed := webhooks["conversion"] == true
		delete(webhooks, "conversion")
		kindName := hub.kinds[0].name
		var spokes []string
		for j, other := range m.apis {
			if i != j && other.group == hub.group && other.kinds[0].name == kindName && m.methodsOf(other.dir, kindName)["ConvertTo"] != "" {
				spokes = append(spokes, other.version)
			}
		}
		switch isHub := m.methodsOf(hub.dir, kindName)["Hub"] != ""; {
		case isHub && len(spokes) > 0:
			if webhooks == nil {
				webhooks = map[string]any{}
				entries[i]["webhooks"] = webhooks
			}
			webhooks["conversion"], webhooks["spoke"], webhooks["webhookVersion"] = true, spokes, "v1"
			hub.hub = true
		case isHub:
			m.know("%s of %s is a hub, and no other version is converted to it: 'mysdk create webhook --conversion' sets the webhook up once there is one.", kindName, hub.version)
		case claimed && !m.hasHub(hub):
			m.know("PROJECT had a conversion webhook for %s, and no version of it has the method Hub: nothing could be converted, and nothing is.", kindName)
		}
		if claimed && !hub.hub && webhooks["defaulting"] != true && webhooks["validation"] != true {
			delete(entries[i], "webhooks")
		}
	}
}

// hasHub says whether some version of the kind is a hub.
func (m *migration) hasHub(of *apiVersion) bool {
	return slices.ContainsFunc(m.apis, func(a *apiVersion) bool {
		return a.group == of.group && a.kinds[0].name == of.kinds[0].name && m.methodsOf(a.dir, a.kinds[0].name)["Hub"] != ""
	})
}
