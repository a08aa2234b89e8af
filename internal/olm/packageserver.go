package olm

import (
	"github.com/blang/semver/v4"
	apiversion "github.com/operator-framework/api/pkg/lib/version"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// packageServerCSV is the ClusterServiceVersion of the packageserver, an API
// that lists the packages of all catalogs. OLM installs it by itself, as it
// does with any operator.
func packageServerCSV(namespace string) typed {
	modes := []operatorsv1alpha1.InstallMode{}
	for _, mode := range []operatorsv1alpha1.InstallModeType{
		operatorsv1alpha1.InstallModeTypeOwnNamespace, operatorsv1alpha1.InstallModeTypeSingleNamespace,
		operatorsv1alpha1.InstallModeTypeMultiNamespace, operatorsv1alpha1.InstallModeTypeAllNamespaces,
	} {
		modes = append(modes, operatorsv1alpha1.InstallMode{Type: mode, Supported: true})
	}
	return typed{unset: []string{"customresourcedefinitions", "cleanup"}, gvk: kind("v1alpha1", "ClusterServiceVersion"), object: &operatorsv1alpha1.ClusterServiceVersion{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: packageServer, Labels: map[string]string{versionLabel: "v" + Version}},
		Spec: operatorsv1alpha1.ClusterServiceVersionSpec{
			DisplayName:    "Package Server",
			Description:    "Represents an Operator package that is available from a given CatalogSource which will resolve to a ClusterServiceVersion.",
			Version:        apiversion.OperatorVersion{Version: semver.MustParse(Version)},
			MinKubeVersion: minKubeVersion,
			Maturity:       "alpha",
			Keywords:       []string{"packagemanifests", "olm", "packages"},
			Maintainers:    []operatorsv1alpha1.Maintainer{{Name: "Red Hat", Email: "openshift-operators@redhat.com"}},
			Provider:       operatorsv1alpha1.AppLink{Name: "Red Hat"},
			Links: []operatorsv1alpha1.AppLink{{
				Name: "Package Server",
				URL:  "https://github.com/operator-framework/operator-lifecycle-manager/tree/master/pkg/package-server",
			}},
			InstallModes: modes,
			InstallStrategy: operatorsv1alpha1.NamedInstallStrategy{
				StrategyName: operatorsv1alpha1.InstallStrategyNameDeployment,
				StrategySpec: operatorsv1alpha1.StrategyDetailsDeployment{
					DeploymentSpecs:    []operatorsv1alpha1.StrategyDeploymentSpec{{Name: packageServer, Spec: packageServerPods(namespace)}},
					ClusterPermissions: []operatorsv1alpha1.StrategyDeploymentPermissions{packageServerRules()},
				},
			},
			APIServiceDefinitions: operatorsv1alpha1.APIServiceDefinitions{
				Owned: []operatorsv1alpha1.APIServiceDescription{{
					Name: "packagemanifests", Group: "packages." + group, Version: "v1", Kind: "PackageManifest",
					DisplayName:    "PackageManifest",
					Description:    "A PackageManifest is a resource generated from existing CatalogSources and their ConfigMaps",
					DeploymentName: packageServer, ContainerPort: packagePort,
				}},
			},
		},
	}}
}

func packageServerRules() operatorsv1alpha1.StrategyDeploymentPermissions {
	rule := func(group string, resources, verbs []string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	read := []string{"get", "list", "watch"}
	openshift := rule("config.openshift.io", []string{"apiservers"}, []string{"get"})
	openshift.ResourceNames = []string{"cluster"}
	return operatorsv1alpha1.StrategyDeploymentPermissions{
		ServiceAccountName: serviceAccount,
		Rules: []rbacv1.PolicyRule{
			rule("authorization.k8s.io", []string{"subjectaccessreviews"}, []string{"create", "get"}),
			rule("", []string{"configmaps"}, read),
			rule(group, []string{"catalogsources"}, read),
			rule("packages."+group, []string{"packagemanifests"}, []string{"get", "list"}),
			openshift,
		},
	}
}
