package olm

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// deployments are OLM's two operators.
func deployments(namespace string) []typed {
	olm := operatorContainer(olmOperator, "160Mi")
	olm.Command = []string{"/bin/olm"}
	olm.Args = []string{"--namespace", "$(OPERATOR_NAMESPACE)", "--writeStatusName", ""}
	olm.Env = []corev1.EnvVar{
		{Name: "OPERATOR_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
		{Name: "OPERATOR_NAME", Value: olmOperator},
	}
	catalogs := operatorContainer(catalog, "80Mi")
	catalogs.Command = []string{"/bin/catalog"}
	catalogs.Args = []string{
		"--namespace", namespace, "--configmapServerImage=" + configMapImage, "--opmImage=" + opmImage,
		"--util-image", olmImage, "--set-workload-user-id=true",
	}
	return []typed{deployment(namespace, olm), deployment(namespace, catalogs)}
}

func deployment(namespace string, c corev1.Container) typed {
	labels := map[string]string{"app": c.Name}
	return typed{gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"), object: &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.Name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Template: podTemplate(labels, c),
		},
	}}
}

func operatorContainer(name, memory string) corev1.Container {
	c := container(name, metricsPort, corev1.URISchemeHTTP, memory)
	c.ImagePullPolicy = corev1.PullIfNotPresent
	c.Ports = []corev1.ContainerPort{{Name: "metrics", ContainerPort: metricsPort}}
	return c
}

// container is what all of OLM's containers have in common.
func container(name string, port int32, scheme corev1.URIScheme, memory string) corev1.Container {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(port), Scheme: scheme},
	}}
	return corev1.Container{
		Name: name, Image: olmImage,
		LivenessProbe: probe, ReadinessProbe: probe,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse(memory),
		}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: "tmpfs", MountPath: "/tmp"}},
	}
}

// podTemplate runs a container as the restricted Pod Security Standard wants.
func podTemplate(labels map[string]string, c corev1.Container) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			ServiceAccountName: serviceAccount,
			NodeSelector:       map[string]string{corev1.LabelOSStable: "linux"},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{c},
			Volumes:    []corev1.Volume{{Name: "tmpfs", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
}

// packageServerPods are the pods of the packageserver.
func packageServerPods(namespace string) appsv1.DeploymentSpec {
	labels := map[string]string{"app": packageServer}
	c := container(packageServer, packagePort, corev1.URISchemeHTTPS, "50Mi")
	c.Command = []string{"/bin/package-server", "-v=4", "--secure-port", fmt.Sprint(packagePort), "--global-namespace", namespace}
	c.ImagePullPolicy = corev1.PullAlways
	c.Ports = []corev1.ContainerPort{{ContainerPort: packagePort, Protocol: corev1.ProtocolTCP}}
	one := intstr.FromInt32(1)
	return appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Strategy: appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &one},
		},
		Template: podTemplate(labels, c),
	}
}
