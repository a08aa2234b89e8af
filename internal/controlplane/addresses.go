package controlplane

import (
	"context"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/errors"
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
	err := onChange(factory.Core().V1().Services().Informer(), func(o any) {
		if service, ok := o.(*corev1.Service); ok && wantsAddress(service) {
			now := service.DeepCopy()
			now.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: outsideAddress(service.UID)}}
			_, err := s.client.CoreV1().Services(now.Namespace).UpdateStatus(ctx, now, metav1.UpdateOptions{})
			s.addressed(ctx, "service", now, err)
		}
	})
	if err != nil {
		return err
	}
	err = onChange(factory.Networking().V1().Ingresses().Informer(), func(o any) {
		if ingress, ok := o.(*networkingv1.Ingress); ok && ingress.DeletionTimestamp == nil && len(ingress.Status.LoadBalancer.Ingress) == 0 {
			now := ingress.DeepCopy()
			now.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: outsideAddress(ingress.UID)}}
			_, err := s.client.NetworkingV1().Ingresses(now.Namespace).UpdateStatus(ctx, now, metav1.UpdateOptions{})
			s.addressed(ctx, "ingress", now, err)
		}
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	return nil
}

// addressed logs failures: what has no address is seen again.
func (s *server) addressed(ctx context.Context, kind string, o metav1.Object, err error) {
	if err != nil && !errors.IsConflict(err) && !errors.IsNotFound(err) && ctx.Err() == nil {
		s.log.Printf("give %s %s/%s an address: %v", kind, o.GetNamespace(), o.GetName(), err)
	}
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
