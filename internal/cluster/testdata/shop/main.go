// Shop is an operator that does what spec.do of its objects says, once for each
// change of the spec. It keeps a ConfigMap NAME-owned for each, and is called for
// ConfigMaps with a label shop=NAME, and for names on its standard input.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var groupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// Shop is the API type.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		N    int    `json:"n,omitempty"`
		Do   string `json:"do,omitempty"`
		Tick int    `json:"tick,omitempty"`
	} `json:"spec,omitempty"`
	Status struct {
		N int `json:"n,omitempty"`
	} `json:"status,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (s *Shop) DeepCopyObject() runtime.Object {
	out := *s
	out.ObjectMeta = *s.ObjectMeta.DeepCopy()
	return &out
}

// ShopList is a list of them.
type ShopList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Shop `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *ShopList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Shop))
	}
	return &out
}

// ShopReconciler reconciles Shops.
type ShopReconciler struct {
	client.Client
	done map[types.NamespacedName]int64 // generation of which spec.do was done
}

// Reconcile keeps the ConfigMap, and does what it is told.
func (r *ShopReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	shop := &Shop{}
	if err := r.Get(ctx, req.NamespacedName, shop); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.keep(ctx, shop); err != nil {
		return ctrl.Result{}, err
	}
	if r.done[req.NamespacedName] == shop.Generation {
		return ctrl.Result{}, nil
	}
	r.done[req.NamespacedName] = shop.Generation
	switch shop.Spec.Do {
	case "fail":
		return ctrl.Result{}, errors.New("told to fail")
	case "requeue":
		return ctrl.Result{Requeue: true}, nil
	case "after":
		return ctrl.Result{RequeueAfter: 1200 * time.Millisecond}, nil
	case "slow":
		time.Sleep(400 * time.Millisecond)
	case "status":
		shop.Status.N = shop.Spec.Tick
		return ctrl.Result{}, r.Status().Update(ctx, shop)
	}
	return ctrl.Result{}, nil
}

func (r *ShopReconciler) keep(ctx context.Context, shop *Shop) error {
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.Name + "-owned"}}
	data := map[string]string{"n": strconv.Itoa(shop.Spec.N)}
	err := r.Get(ctx, client.ObjectKeyFromObject(owned), owned)
	switch {
	case apierrors.IsNotFound(err):
		owned.Data = data
		if err := controllerutil.SetControllerReference(shop, owned, r.Scheme()); err != nil {
			return err
		}
		return r.Create(ctx, owned)
	case err == nil && owned.Data["n"] != data["n"]:
		owned.Data = data
		return r.Update(ctx, owned)
	}
	return err
}

// SetupWithManager has it called.
func (r *ShopReconciler) SetupWithManager(mgr ctrl.Manager, pokes chan event.GenericEvent) error {
	return ctrl.NewControllerManagedBy(mgr).For(&Shop{}).Owns(&corev1.ConfigMap{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			name := o.GetLabels()["shop"]
			if name == "" {
				return nil
			}
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
		})).
		WatchesRawSource(source.Channel(pokes, &handler.EnqueueRequestForObject{})).
		Complete(r)
}

func run() error {
	ctrl.SetLogger(klog.Background())
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	scheme.AddKnownTypes(groupVersion, &Shop{}, &ShopList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	options := ctrl.Options{Scheme: scheme}
	options.Metrics.BindAddress = "0"
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)
	if err != nil {
		return err
	}
	pokes := make(chan event.GenericEvent)
	r := &ShopReconciler{Client: mgr.GetClient(), done: map[types.NamespacedName]int64{}}
	if err := r.SetupWithManager(mgr, pokes); err != nil {
		return err
	}
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			pokes <- event.GenericEvent{Object: &Shop{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: lines.Text()}}}
		}
	}()
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
