package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/storage/util"
	"k8s.io/utils/ptr"
)

const (
	// provisioner names who makes volumes, here in name only: no data is
	// stored anywhere.
	provisioner = "mysdk.dev/simulated"
	// storageClass is the default class, named as in most clusters.
	storageClass = "standard"
	// retryClaims is how often claims and volumes are looked at again.
	retryClaims = time.Minute

	// Annotations by which the volume binder and a provisioner speak.
	wantsProvisioner = "volume.kubernetes.io/storage-provisioner"
	provisionedBy    = "pv.kubernetes.io/provisioned-by"
)

// createStorageClass makes the default storage class.
func (s *server) createStorageClass(ctx context.Context) error {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        storageClass,
			Annotations: map[string]string{util.IsDefaultStorageClassAnnotation: "true"},
		},
		Provisioner: provisioner, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
	}
	if err := ensure(ctx, func() error { return create(ctx, s.client.StorageV1().StorageClasses().Create, class) }); err != nil {
		return fmt.Errorf("create the storage class %s: %w", storageClass, err)
	}
	return nil
}

// runClaims makes a volume for each claim that asks our provisioner for one,
// and removes volumes whose claim is gone. The volume binder does the rest.
func (s *server) runClaims(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(s.client, retryClaims)
	provision := func(o any) {
		if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && wantsVolume(claim) {
			s.provision(ctx, claim)
		}
	}
	reclaim := func(o any) {
		if volume, ok := o.(*corev1.PersistentVolume); ok && isReleased(volume) {
			s.reclaim(ctx, volume)
		}
	}
	core := factory.Core().V1()
	if err := onChange(core.PersistentVolumeClaims().Informer(), provision); err != nil {
		return err
	}
	if err := onChange(core.PersistentVolumes().Informer(), reclaim); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	return nil
}

// onChange calls f with every object that is there, comes or changes.
func onChange(informer cache.SharedIndexInformer, f func(any)) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: f, UpdateFunc: func(_, o any) { f(o) },
	})
	return err
}

func wantsVolume(c *corev1.PersistentVolumeClaim) bool {
	return c.Annotations[wantsProvisioner] == provisioner && c.Spec.VolumeName == "" && c.DeletionTimestamp == nil
}

func isReleased(v *corev1.PersistentVolume) bool {
	return v.Status.Phase == corev1.VolumeReleased && v.Annotations[provisionedBy] == provisioner &&
		v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && v.DeletionTimestamp == nil
}

// provision logs failures: it is called again.
func (s *server) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) {
	err := create(ctx, s.client.CoreV1().PersistentVolumes().Create, volumeFor(claim))
	if err != nil && !errors.IsAlreadyExists(err) && ctx.Err() == nil {
		s.log.Printf("make a volume for claim %s/%s: %v", claim.Namespace, claim.Name, err)
	}
}

func (s *server) reclaim(ctx context.Context, volume *corev1.PersistentVolume) {
	err := s.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if err != nil && !errors.IsNotFound(err) && ctx.Err() == nil {
		s.log.Printf("remove the volume %s: %v", volume.Name, err)
	}
}

// volumeFor is the volume in name only that fits a claim.
func volumeFor(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pvc-" + string(c.UID), Annotations: map[string]string{provisionedBy: provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: c.Spec.Resources.Requests, AccessModes: c.Spec.AccessModes, VolumeMode: c.Spec.VolumeMode,
			StorageClassName:              ptr.Deref(c.Spec.StorageClassName, storageClass),
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/simulated/" + string(c.UID)},
			},
		},
	}
}
