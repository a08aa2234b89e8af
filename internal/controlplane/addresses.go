package controlplane

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
)

// outsideNetwork is where load balancers and ingresses get their addresses: one
// of those that are kept for documentation and lead nowhere.
const outsideNetwork = "192.0.2"

// runAddresses gives Services of type LoadBalancer and Ingresses an address, in
// name only, as a cloud does.
func (s *server) runAddresses(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(s.client, retryClaims)
	err := errors.Join(
		onChange(factory.Core().V1().Services().Informer(), func(service *corev1.Service) {
			if wantsAddress(service) {
				now := service.DeepCopy()
				now.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: outsideAddress(service.UID)}}
				_, err := s.client.CoreV1().Services(now.Namespace).UpdateStatus(ctx, now, metav1.UpdateOptions{})
				s.logFailure(ctx, err, "give service %s an address", now, apierrors.IsConflict, apierrors.IsNotFound)
			}
		}),
		onChange(factory.Networking().V1().Ingresses().Informer(), func(ingress *networkingv1.Ingress) {
			if ingress.DeletionTimestamp == nil && len(ingress.Status.LoadBalancer.Ingress) == 0 {
				err := s.addressIngress(ctx, ingress.DeepCopy())
				s.logFailure(ctx, err, "give ingress %s an address", ingress, apierrors.IsConflict, apierrors.IsNotFound)
			}
		}),
	)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	return nil
}

// addressIngress gives an Ingress an address, unless its class exists: that is for
// whoever implements it, as an operator may.
func (s *server) addressIngress(ctx context.Context, i *networkingv1.Ingress) error {
	if class := i.Spec.IngressClassName; class != nil {
		_, err := s.client.NetworkingV1().IngressClasses().Get(ctx, *class, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: outsideAddress(i.UID)}}
	_, err := s.client.NetworkingV1().Ingresses(i.Namespace).UpdateStatus(ctx, i, metav1.UpdateOptions{})
	return err
}

// wantsAddress leaves Services with a class to whoever implements that.
func wantsAddress(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil &&
		s.DeletionTimestamp == nil && len(s.Status.LoadBalancer.Ingress) == 0
}

// outsideAddress stays the same for an object.
func outsideAddress(uid types.UID) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(uid)) // never fails
	return fmt.Sprintf("%s.%d", outsideNetwork, 1+hash.Sum32()%254)
}
