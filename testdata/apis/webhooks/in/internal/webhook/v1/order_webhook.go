// Package v1 has the webhooks of the shop.
package v1

// +kubebuilder:webhookconfiguration:mutating=true,name=shop-mutating
// +kubebuilder:webhookconfiguration:mutating=false,name=shop-validating

// +kubebuilder:webhook:path=/mutate-shop-example-com-v1-order,mutating=true,failurePolicy=fail,sideEffects=None,groups=shop.example.com,resources=orders,verbs=create;update,versions=v1,name=morder-v1.kb.io,admissionReviewVersions=v1

// OrderDefaulter fills in defaults.
type OrderDefaulter struct{}

// +kubebuilder:webhook:path=/validate-shop-example-com-v1-order,mutating=false,failurePolicy=ignore,sideEffects=NoneOnDryRun,groups=shop.example.com,resources=orders;orders/status,verbs=create;update;delete,versions=v1;v1beta1,name=vorder-v1.kb.io,admissionReviewVersions=v1;v1beta1,matchPolicy=Equivalent,timeoutSeconds=7,serviceName=hooks,serviceNamespace=shop,servicePort=9443,reinvocationPolicy=Never

// OrderValidator refuses what is wrong.
type OrderValidator struct{}
