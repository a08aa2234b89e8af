package olm

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

type (
	ingress = networkingv1.NetworkPolicyIngressRule
	egress  = networkingv1.NetworkPolicyEgressRule
)

// networkPolicies close OLM's namespace but for what its parts need.
func networkPolicies(namespace string) []typed {
	app := func(name string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	both := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	grpc := tcp(intstr.FromInt32(catalogGRPCPort))
	metrics, packages := []ingress{{Ports: tcp(intstr.FromString("metrics"))}}, []ingress{{Ports: tcp(intstr.FromInt32(packagePort))}}
	anywhere, names, catalogs := egress{}, egress{Ports: dns()}, egress{Ports: grpc}
	// The policies for catalogs and unpack jobs stand in the namespace of the
	// global catalogs, which is OLM's.
	return []typed{
		policy(namespace, "default-deny-all-traffic", networkingv1.NetworkPolicySpec{PolicyTypes: both}),
		policy(namespace, olmOperator, networkingv1.NetworkPolicySpec{
			PodSelector: app(olmOperator), PolicyTypes: both, Ingress: metrics, Egress: []egress{anywhere, names},
		}),
		policy(namespace, catalog, networkingv1.NetworkPolicySpec{
			PodSelector: app(catalog), PolicyTypes: both, Ingress: metrics, Egress: []egress{anywhere, names, catalogs},
		}),
		policy(namespace, packageServer, networkingv1.NetworkPolicySpec{
			PodSelector: app(packageServer), PolicyTypes: both, Ingress: packages, Egress: []egress{anywhere, names, catalogs},
		}),
		policy(OperatorsNamespace, "default-allow-all", networkingv1.NetworkPolicySpec{
			PolicyTypes: both, Ingress: []ingress{{}}, Egress: []egress{anywhere},
		}),
		policy(namespace, "olm-catalog-grpc-ingress", networkingv1.NetworkPolicySpec{
			PodSelector: expressions(metav1.LabelSelectorRequirement{Key: "olm.catalogSource", Operator: metav1.LabelSelectorOpExists}),
			PolicyTypes: both[:1], Ingress: []ingress{{Ports: grpc}},
		}),
		policy(namespace, "bundle-unpack-egress", networkingv1.NetworkPolicySpec{
			PodSelector: expressions(
				metav1.LabelSelectorRequirement{Key: "operatorframework.io/bundle-unpack-ref", Operator: metav1.LabelSelectorOpExists},
				metav1.LabelSelectorRequirement{Key: "olm.managed", Operator: metav1.LabelSelectorOpIn, Values: []string{"true"}}),
			PolicyTypes: both[1:], Egress: []egress{anywhere},
		}),
	}
}

func policy(namespace, name string, spec networkingv1.NetworkPolicySpec) typed {
	return typed{gvk: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), object: &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec,
	}}
}

func expressions(list ...metav1.LabelSelectorRequirement) metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: list}
}

func tcp(port intstr.IntOrString) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: &port}}
}

// dns are the ports of name servers, OpenShift's among them.
func dns() []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, number := range []int32{53, 5353} {
		port := intstr.FromInt32(number)
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: &port},
			networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolUDP), Port: &port})
	}
	return ports
}
