package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
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

// createStorageClass makes the default storage class of a new cluster. Who deletes it
// has reasons, such as another default.
func (s *server) createStorageClass(ctx context.Context) error {
	if s.now.UID != "" {
		return nil
	}
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        storageClass,
			Annotations: map[string]string{util.IsDefaultStorageClassAnnotation: "true"},
		},
		Provisioner: provisioner, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
		AllowVolumeExpansion: ptr.To(true),
	}
	if err := ensure(ctx, func() error { return create(ctx, s.client.StorageV1().StorageClasses(), class) }); err != nil {
		return fmt.Errorf("create the storage class %s: %w", storageClass, err)
	}
	return nil
}

// runClaims makes a volume for each claim that asks our provisioner for one,
// lets it grow with its claim, and removes volumes whose claim is gone. The
// volume binder does the rest.
func (s *server) runClaims(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(s.client, retryClaims)
	core, volumes := factory.Core().V1(), s.client.CoreV1().PersistentVolumes()
	err := errors.Join(
		onChange(core.PersistentVolumeClaims().Informer(), func(claim *corev1.PersistentVolumeClaim) {
			if wantsVolume(claim) {
				err := create(ctx, volumes, volumeFor(claim))
				s.logFailure(ctx, err, "make a volume for claim %s", claim, apierrors.IsAlreadyExists)
			} else if wantsMore(claim) {
				s.logFailure(ctx, s.expand(ctx, claim), "expand the volume of claim %s", claim, apierrors.IsNotFound)
			}
		}),
		onChange(core.PersistentVolumes().Informer(), func(volume *corev1.PersistentVolume) {
			if isReleased(volume) {
				err := volumes.Delete(ctx, volume.Name, metav1.DeleteOptions{})
				s.logFailure(ctx, err, "remove the volume %s", volume, apierrors.IsNotFound)
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

// onChange calls f with every object that is there, comes or changes.
func onChange[T metav1.Object](informer cache.SharedIndexInformer, f func(T)) error {
	see := func(o any) {
		if object, ok := o.(T); ok {
			f(object)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, o any) { see(o) },
	})
	return err
}

// logFailure logs what could not be done for an object, unless that was to be expected:
// the object is seen again. what has a %s for its name.
func (s *server) logFailure(
	ctx context.Context, err error, what string, o metav1.Object, expected ...utilerrors.Matcher,
) {
	if err = utilerrors.FilterOut(err, expected...); err != nil && ctx.Err() == nil {
		s.log.Printf(what+": %v", cache.MetaObjectToName(o), err)
	}
}

func wantsVolume(c *corev1.PersistentVolumeClaim) bool {
	return c.Annotations[wantsProvisioner] == provisioner && c.Spec.VolumeName == "" && c.DeletionTimestamp == nil
}

// wantsMore reports whether a bound claim asks for more than its volume has.
func wantsMore(c *corev1.PersistentVolumeClaim) bool {
	wanted, has := c.Spec.Resources.Requests[corev1.ResourceStorage], c.Status.Capacity[corev1.ResourceStorage]
	return c.Annotations[wantsProvisioner] == provisioner && c.Status.Phase == corev1.ClaimBound && c.DeletionTimestamp == nil && wanted.Cmp(has) > 0
}

func isReleased(v *corev1.PersistentVolume) bool {
	return v.Status.Phase == corev1.VolumeReleased && v.Annotations[provisionedBy] == provisioner &&
		v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && v.DeletionTimestamp == nil
}

// expand gives a claim's volume the size that the claim asks for, as a
// provisioner's resizer does: the volume first, then the claim's status.
func (s *server) expand(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	wanted := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	core := s.client.CoreV1()
	grow := fmt.Appendf(nil, `{"spec":{"capacity":{"storage":%q}}}`, wanted.String())
	_, err := core.PersistentVolumes().Patch(ctx, claim.Spec.VolumeName, types.MergePatchType, grow, metav1.PatchOptions{})
	if err == nil {
		grow = fmt.Appendf(nil, `{"status":{"capacity":{"storage":%q}}}`, wanted.String())
		_, err = core.PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, grow, metav1.PatchOptions{}, "status")
	}
	return err
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
