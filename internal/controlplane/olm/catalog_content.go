package olm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/informers/externalversions"
	olmlisters "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/listers/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/keymutex"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane/supervise"
)

const (
	// unpackLocks are many more than a cluster has catalogs: two images with one
	// lock would wait for each other's registry.
	unpackLocks = 256
	// catalogSettle is how long after a change of a ConfigMap its catalog is
	// read: a catalog of several ConfigMaps is written one by one.
	catalogSettle = 30 * time.Millisecond
)

// catalogLoader keeps catalogs in step with ConfigMaps and CatalogSources.
type catalogLoader struct {
	*catalogs
	client   kubernetes.Interface
	dir      string // of unpacked images, kept
	scratch  string // of everything else, dropped at the start
	images   images
	pulls    pulls
	pulling  sync.WaitGroup
	unpacked keymutex.KeyMutex // of the directories of images, by their digests
	maps     corelisters.ConfigMapLister
	sources  olmlisters.CatalogSourceLister
	queue    workqueue.TypedDelayingInterface[types.NamespacedName]
}

// startCatalogs serves the catalogs of the cluster to OLM. It returns when it
// knows which there are: their content comes later, and connections wait for it.
func (o *olm) startCatalogs(parts *supervise.Supervisor, global string, found images) error {
	if err := errors.Join(os.RemoveAll(o.scratch()), os.MkdirAll(o.scratch(), 0o700)); err != nil {
		return fmt.Errorf("drop old catalogs: %w", err)
	}
	core := informers.NewSharedInformerFactoryWithOptions(o.Client, 0, informers.WithTweakListOptions(func(l *metav1.ListOptions) { l.LabelSelector = state.CatalogLabel }))
	olm := externalversions.NewSharedInformerFactory(o.custom, 0)
	contents, sources := core.Core().V1().ConfigMaps(), olm.Operators().V1alpha1().CatalogSources()
	l := &catalogLoader{
		client: o.Client, dir: filepath.Join(o.Dir, "images"), scratch: o.scratch(), images: found, maps: contents.Lister(), sources: sources.Lister(),
		queue:    workqueue.NewTypedDelayingQueue[types.NamespacedName](),
		unpacked: keymutex.NewHashed(unpackLocks),
	}
	l.catalogs = newCatalogs(o.Log, global)
	l.owner = l.sourceAt
	l.unknown = func(name types.NamespacedName, reason string) { l.warn(parts.Ctx, o.Client, name, reason) }
	if err := o.route.register(o.Log); err != nil {
		return fmt.Errorf("route OLM's connections to catalogs: %w", err)
	}
	labelled := func(o metav1.Object) string { return o.GetLabels()[state.CatalogLabel] }
	if err := errors.Join(l.watch(contents.Informer(), labelled), l.watch(sources.Informer(), metav1.Object.GetName)); err != nil {
		return err
	}
	core.Start(parts.Ctx.Done())
	olm.Start(parts.Ctx.Done())
	core.WaitForCacheSync(parts.Ctx.Done())
	olm.WaitForCacheSync(parts.Ctx.Done())
	o.route.to.Store(l.catalogs)
	parts.Run("the catalogs", func(ctx context.Context) error {
		defer o.route.to.CompareAndSwap(l.catalogs, nil)
		return l.run(ctx)
	})
	return nil
}

// watch has the catalogs of changed objects loaded, by the name that catalogOf has.
func (l *catalogLoader) watch(informer cache.SharedInformer, catalogOf func(metav1.Object) string) error {
	changed := func(object any) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		if o, ok := object.(metav1.Object); ok {
			l.queue.AddAfter(types.NamespacedName{Namespace: o.GetNamespace(), Name: catalogOf(o)}, catalogSettle)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed,
		UpdateFunc: func(before, after any) { changed(before); changed(after) },
	})
	return err
}

func (l *catalogLoader) run(ctx context.Context) error {
	defer l.close()
	defer l.pulling.Wait()
	defer context.AfterFunc(ctx, l.queue.ShutDown)()
	for {
		name, shutdown := l.queue.Get()
		if shutdown {
			return context.Cause(ctx)
		}
		if err := l.load(ctx, name); err != nil {
			l.log.Printf("catalog %s keeps its content: %v", name, err)
			l.standFor(name, err, false)
		}
		l.queue.Done(name)
	}
}

// load brings one catalog to the state that the cluster asks for.
func (l *catalogLoader) load(ctx context.Context, name types.NamespacedName) error {
	found, err := l.maps.ConfigMaps(name.Namespace).List(labels.SelectorFromSet(labels.Set{state.CatalogLabel: name.Name}))
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return l.loadMaps(ctx, name, found)
	}
	source, err := l.sources.CatalogSources(name.Namespace).Get(name.Name)
	switch {
	case apierrors.IsNotFound(err):
		l.withdraw(name)
	case err != nil:
		return err
	case source.Spec.Image != "":
		l.loadImage(ctx, name, source)
	case l.digest(name) != "":
		l.withdraw(name) // its content has gone; a substitute stays
	}
	return nil
}

// withdraw serves a catalog no more, and drops what was unpacked for it.
func (l *catalogLoader) withdraw(name types.NamespacedName) {
	l.pulls.forget(name)
	had := l.digest(name)
	l.put(name, nil)
	l.dropContent(had)
}

func (l *catalogLoader) loadMaps(ctx context.Context, name types.NamespacedName, found []*corev1.ConfigMap) error {
	pieces, err := catalogPieces(found)
	if err != nil {
		return err
	}
	digest := digestOf(pieces)
	if l.digest(name) == digest {
		return nil
	}
	dir, err := os.MkdirTemp(l.scratch, "maps-")
	if err != nil {
		return err
	}
	files := filepath.Join(dir, "content")
	if err := writePieces(files, pieces); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	content, err := newCatalogServer(ctx, os.DirFS(files), filepath.Join(dir, "cache"), digest)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	content.dir = dir
	l.put(name, content)
	return nil
}

// catalogPieces are the file-based catalogs in ConfigMaps, by a name for each.
func catalogPieces(found []*corev1.ConfigMap) (map[string][]byte, error) {
	pieces := map[string][]byte{}
	for _, m := range found {
		some, err := state.CatalogPieces(m.Data, m.BinaryData)
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s, %w", m.Namespace, m.Name, err)
		}
		for key, data := range some {
			pieces[m.Name+"-"+key] = data
		}
	}
	return pieces, nil
}

// digestOf tells contents apart.
func digestOf(pieces map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(pieces)) {
		fmt.Fprintf(h, "%q %d\n", name, len(pieces[name])) // a hash takes everything
		h.Write(pieces[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writePieces puts the pieces into files. Keys of ConfigMaps are no paths: the
// API server lets none with a slash or of dots alone in.
func writePieces(dir string, pieces map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range pieces {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sourceAt finds the CatalogSource that an address means: the one that is named
// in it, or else one that has it, whatever it looks like.
func (l *catalogLoader) sourceAt(address string) (types.NamespacedName, bool) {
	if name, err := catalogName(address); err == nil {
		if _, err := l.sources.CatalogSources(name.Namespace).Get(name.Name); err == nil {
			return name, true
		}
	}
	all, err := l.sources.List(labels.Everything())
	if err != nil {
		return types.NamespacedName{}, false
	}
	for _, s := range all {
		if s.Spec.Address == address {
			return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, true
		}
	}
	return types.NamespacedName{}, false
}

// warn tells users, by an event on the CatalogSource, of a catalog that has no content.
func (l *catalogLoader) warn(ctx context.Context, client kubernetes.Interface, name types.NamespacedName, reason string) {
	source, err := l.sources.CatalogSources(name.Namespace).Get(name.Name)
	if err != nil {
		return // nobody to tell
	}
	now := metav1.Now()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, GenerateName: name.Name + "."},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: operatorsv1alpha1.SchemeGroupVersion.String(), Kind: operatorsv1alpha1.CatalogSourceKind,
			Namespace: name.Namespace, Name: name.Name, UID: source.UID, ResourceVersion: source.ResourceVersion,
		},
		Type: corev1.EventTypeWarning, Reason: "CatalogUnavailable", Message: reason,
		Source: corev1.EventSource{Component: "mysdk-cluster"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	if _, err := client.CoreV1().Events(name.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		l.log.Printf("tell that catalog %s has no content: %v", name, err)
	}
}
