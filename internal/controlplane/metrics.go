package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/utils/ptr"
)

const (
	// metricsService is the Service of the metrics API, named as that of
	// metrics-server. Its address exists in names only: it is answered in memory.
	metricsService = "metrics-server"
	metricsAddress = "metrics-server.invalid:443"
	// metricsPriority is that of metrics-server, below all other groups.
	metricsPriority = 100
)

// registerMetrics has the API server pass on requests for metrics.k8s.io.
func (s *server) registerMetrics(ctx context.Context) error {
	client, err := apiregistration.NewForConfig(adminConfig(s.now.Server, s.keys))
	if err != nil {
		return fmt.Errorf("make a client for APIServices: %w", err)
	}
	s.local.set(metav1.NamespaceSystem, metricsService, metricsAddress)
	// Of a type whose endpoints the API server does not look for.
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: metricsService},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	version := metricsv1beta1.SchemeGroupVersion
	api := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version.Version + "." + version.Group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: version.Group, Version: version.Version, GroupPriorityMinimum: metricsPriority, VersionPriority: metricsPriority,
			Service:               &apiregistrationv1.ServiceReference{Namespace: service.Namespace, Name: service.Name, Port: ptr.To(int32(443))},
			InsecureSkipTLSVerify: true, // nobody else can be at its address
		},
	}
	for _, step := range []func() error{
		func() error { return create(ctx, s.client.CoreV1().Services(service.Namespace), service) },
		func() error { return create(ctx, client.ApiregistrationV1().APIServices(), api) },
	} {
		if err := ensure(ctx, step); err != nil {
			s.log.Printf("going on without the metrics API: %v", err) // the user's admission may refuse it
			return nil
		}
	}
	return nil
}
