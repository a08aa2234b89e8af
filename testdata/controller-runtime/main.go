// An operator that any controller-runtime from 0.14 on compiles: it keeps a
// ServiceAccount of the same name for each ConfigMap with the label kept.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Keeper reconciles ConfigMaps.
type Keeper struct{ client.Client }

// Reconcile keeps the ServiceAccount.
func (k *Keeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	from := &corev1.ConfigMap{}
	if err := k.Get(ctx, req.NamespacedName, from); err != nil || from.Labels["kept"] == "" {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	to := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
	if err := k.Get(ctx, req.NamespacedName, to); !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err
	}
	if err := controllerutil.SetControllerReference(from, to, k.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	log.FromContext(ctx).Info("creating the ServiceAccount")
	return ctrl.Result{}, k.Create(ctx, to)
}

// options leave the metrics out: the field for that has another place since 0.16.
func options() ctrl.Options {
	o := ctrl.Options{}
	v := reflect.ValueOf(&o).Elem()
	field := v.FieldByName("MetricsBindAddress")
	if metrics := v.FieldByName("Metrics"); metrics.IsValid() {
		field = metrics.FieldByName("BindAddress")
	}
	field.SetString("0")
	return o
}

func run() error {
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options())
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&corev1.ServiceAccount{}).Complete(&Keeper{mgr.GetClient()})
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
