package v4

import (
	"fmt"
	"io/fs"
	"strings"

	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
)

// The package that migrates stored objects, its list of CRDs, and its templates.
const (
	MigrationPackage   = "internal/storageversion"
	migratedPath       = MigrationPackage + "/crds.go"
	migrationTemplates = "webhook/storage"
)

// migrateField says in the record of a conversion that its objects are migrated.
const migrateField = "migrateStorage"

// checkMigration refuses what cannot be migrated.
func (s *createWebhookSubcommand) checkMigration() error {
	switch {
	case !s.migrate:
		return nil
	case !s.conversion:
		return usage("add --conversion", "--migrate-storage rewrites objects of versions that are converted, and no conversion is asked for")
	case s.managerNamespaced:
		return usage(fmt.Sprintf("let the manager watch all namespaces, or leave out --migrate-storage; 'mysdk delete webhook --group %s --version %s --kind %s --conversion' takes away a migration that is there",
			or(s.resource.Group, `""`), s.resource.Version, s.resource.Kind),
			"--migrate-storage rewrites the objects of all namespaces, and the manager watches one")
	}
	return nil
}

// writeMigration adds the CRD to those whose stored objects are migrated.
// Templates of an earlier release have no migration.
func (s *createWebhookSubcommand) writeMigration(disk machinery.Filesystem, d data) error {
	if _, err := fs.Stat(d.templates, migrationTemplates); !s.migrate || err != nil {
		return nil //nolint:nilerr // see above
	}
	all, err := files(d, strings.NewReplacer(), func(string) machinery.IfExistsAction { return machinery.SkipFile }, tree{root: migrationTemplates})
	if err != nil {
		return err
	}
	if err := execute(disk, all); err != nil {
		return fmt.Errorf("writing the migration of stored objects: %w", err)
	}
	if err := edit(disk.FS, migratedPath, s.addMigrated); err != nil {
		return err
	}
	w := mainWiring{repo: d.Repo, migrationPath: d.Repo + "/" + MigrationPackage}
	return edit(disk.FS, mainPath, func(text string) (string, error) { return wireMain(text, w) })
}

// addMigrated lists the CRD, with the permissions that its migration needs.
func (s *createWebhookSubcommand) addMigrated(text string) (string, error) {
	const crds = "// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions%s,resourceNames=%s,verbs=%s"
	for _, add := range []struct{ marker, code string }{
		{"storage-version-rbac", fmt.Sprintf(crds, "", s.crdName(), "get")},
		{"storage-version-rbac", fmt.Sprintf(crds, "/status", s.crdName(), "update")},
		{"storage-version-rbac", fmt.Sprintf("// +kubebuilder:rbac:groups=%s,resources=%s,verbs=list;patch", s.resource.QualifiedGroup(), s.resource.Plural)},
		{"storage-version", fmt.Sprintf("\t\t%q,", s.crdName())},
	} {
		var err error
		if text, err = insertSorted(migratedPath, text, add.marker, add.code); err != nil {
			return "", err
		}
	}
	return text, nil
}

// recordMigration notes the migration in the run that wrote the conversion.
func (s *createWebhookSubcommand) recordMigration() error {
	if !s.migrate {
		return nil
	}
	r, err := readRecord(s.config, ScaffoldKey, s.resource.GVK)
	if err != nil {
		return err
	}
	runs, _ := r.entry[webhooksField].([]any)
	run := conversionRun(runs)
	if run == nil { // another tool has written the conversion
		run = map[string]any{certsField: s.certs, "conversion": true}
		runs = append(runs, run)
	}
	run[migrateField] = true
	r.entry[webhooksField] = runs
	return r.write()
}

// migrated says whether PROJECT has it that the stored objects are migrated.
func migrated(c config.Config, gvk resource.GVK) (bool, error) {
	r, err := readRecord(c, ScaffoldKey, gvk)
	if err != nil {
		return false, err
	}
	runs, _ := r.entry[webhooksField].([]any)
	return conversionRun(runs)[migrateField] == true, nil
}

// conversionRun is the run that wrote the conversion, nil where none is recorded.
func conversionRun(runs []any) map[string]any {
	for _, item := range runs {
		if run, _ := item.(map[string]any); run["conversion"] == true {
			return run
		}
	}
	return nil
}
