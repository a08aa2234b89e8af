/*
Copyright 2026.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package storageversion rewrites objects that are stored in an old API version,
// and then takes that version out of status.storedVersions of their CRD, so that
// it can be removed from the CRD.
package storageversion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// interval is the time between two looks at the CRDs.
	interval = 10 * time.Minute

	// firstRetry is the pause after a failure; it doubles up to interval.
	firstRetry = 5 * time.Second

	// settle is how long a CRD must be unchanged before objects are rewritten:
	// by then every API server writes the new version.
	settle = 10 * time.Second

	// pageSize is how many objects are listed at once.
	pageSize = 500
)

// Migrator migrates the objects of all CRDs in crds.
type Migrator struct {
	client   client.Client
	reader   client.Reader // without a cache
	settle   time.Duration
	pageSize int64
}

// SetupWithManager adds the migration to the manager.
func SetupWithManager(mgr ctrl.Manager) error {
	return mgr.Add(&Migrator{client: mgr.GetClient(), reader: mgr.GetAPIReader(), settle: settle, pageSize: pageSize})
}

var _ manager.LeaderElectionRunnable = (*Migrator)(nil)

// NeedLeaderElection is true: one replica migrates.
func (*Migrator) NeedLeaderElection() bool { return true }

// Start migrates what is stored in old versions, now and whenever a CRD changes
// its storage version, until the context ends.
func (m *Migrator) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithName("storageversion")
	ctx = ctrl.LoggerInto(ctx, log)
	retry := firstRetry
	for {
		pause := interval
		err := m.Migrate(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			pause, retry = retry, min(2*retry, interval)
			log.Error(err, "Failed to migrate stored objects, will try again", "after", pause)
		default:
			retry = firstRetry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// Migrate migrates the objects of each CRD that lists an old stored version.
func (m *Migrator) Migrate(ctx context.Context) error {
	var failed []error
	for _, name := range crds() {
		if err := m.migrate(ctx, name); err != nil {
			failed = append(failed, fmt.Errorf("migrating the objects of %s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

// definition is what counts here of a CRD.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name    string `json:"name"`
			Served  bool   `json:"served"`
			Storage bool   `json:"storage"`
		} `json:"versions"`
	} `json:"spec"`
	Status struct {
		StoredVersions []string `json:"storedVersions"`
	} `json:"status"`
}

// versions returns the storage version and the one to read and write objects
// in: the same, unless it is not served.
func (d *definition) versions() (storage, served string) {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			storage = v.Name
		}
		if v.Served && (served == "" || v.Storage) {
			served = v.Name
		}
	}
	return storage, served
}

// migrate rewrites the objects of one CRD and then reduces its stored versions.
func (m *Migrator) migrate(ctx context.Context, name string) error {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := m.reader.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
		return err
	}
	var d definition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, &d); err != nil {
		return fmt.Errorf("reading the CRD: %w", err)
	}
	storage, served := d.versions()
	if slices.Equal(d.Status.StoredVersions, []string{storage}) {
		return nil
	}
	log := ctrl.LoggerFrom(ctx).WithValues("crd", name, "storageVersion", storage)
	log.Info("Rewriting stored objects", "storedVersions", d.Status.StoredVersions)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(m.settle):
	}
	count, err := m.rewrite(ctx, schema.GroupVersionKind{Group: d.Spec.Group, Version: served, Kind: d.Spec.Names.Kind})
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedStringSlice(crd.Object, []string{storage}, "status", "storedVersions"); err != nil {
		return err
	}
	// The resource version is that of the CRD as it was read above: if it has
	// changed since, this is a conflict, and everything begins again.
	if err := m.client.Status().Update(ctx, crd); err != nil {
		return fmt.Errorf("updating status.storedVersions: %w", err)
	}
	log.Info("Migrated stored objects", "objects", count)
	return nil
}

// rewrite writes all objects of a kind back unchanged, which stores them in the
// storage version, and returns their number.
func (m *Migrator) rewrite(ctx context.Context, gvk schema.GroupVersionKind) (int, error) {
	count, next := 0, ""
	for {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := m.reader.List(ctx, list, client.Limit(m.pageSize), client.Continue(next))
		if again := continueAfter(err); again != "" {
			next = again
			continue
		}
		if err != nil {
			return count, fmt.Errorf("listing %s: %w", gvk.Kind, err)
		}
		for _, item := range list.Items {
			item.SetGroupVersionKind(gvk)
			err := m.client.Patch(ctx, &item, client.RawPatch(types.MergePatchType, []byte("{}")))
			// Whoever caused a conflict has written the object himself.
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return count, fmt.Errorf("rewriting %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(&item), err)
			}
			count++
		}
		if next = list.GetContinue(); next == "" {
			return count, nil
		}
	}
}

// continueAfter returns the token by which the API server lets an expired list
// go on with the objects of now. New objects that this misses are stored in the
// new version.
func continueAfter(err error) string {
	var status apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &status) {
		return status.Status().ListMeta.Continue
	}
	return ""
}
