package olm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// configsLabel names the directory of a catalog image that has the catalog.
	configsLabel = "operators.operatorframework.io.index.configs.v1"
	// databaseLabel is on catalog images of the kind before.
	databaseLabel = "operators.operatorframework.io.index.database.v1"
	// pullRetry is the pause after a catalog image could not be pulled.
	pullRetry = 20 * time.Second
	// pullLimit bounds one attempt, whose registry may be slow or unresponsive.
	pullLimit = 10 * time.Minute
)

// pulls are the catalog images that are being pulled, or could not be.
type pulls struct {
	mu    sync.Mutex
	state map[types.NamespacedName]*pull
}

// pull is the last attempt to get a catalog's image.
type pull struct {
	image   string
	running bool
	looked  time.Time // when it began
	again   time.Time // not before
}

// begin reports whether an image must be pulled now, which is then noted. One
// that is served already is looked at again when every has passed, and never for
// zero. later is after how long to ask again, zero for not by the clock.
func (p *pulls) begin(name types.NamespacedName, image string, served bool, every time.Duration, now time.Time) (begun bool, later time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == nil {
		p.state = map[types.NamespacedName]*pull{}
	}
	last := p.state[name]
	known := last != nil && last.image == image
	switch {
	case known && last.running, served && every == 0:
		return false, 0
	case known && now.Before(last.again):
		return false, last.again.Sub(now)
	case known && served && now.Before(last.looked.Add(every)):
		return false, last.looked.Add(every).Sub(now)
	}
	p.state[name] = &pull{image: image, running: true, looked: now}
	return true, every
}

// end notes how it went and reports whether anybody still wants the image.
func (p *pulls) end(name types.NamespacedName, image string, again time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.state[name]
	if last == nil || last.image != image {
		return false
	}
	last.running, last.again = false, again
	return true
}

func (p *pulls) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.state, name)
}

// loadImage has the content of a catalog image pulled and served, unless it is served
// already and need not be looked at again. The loader does not wait for that.
func (l *catalogLoader) loadImage(ctx context.Context, name types.NamespacedName, source *operatorsv1alpha1.CatalogSource) {
	image := source.Spec.Image
	have := l.digest(name)
	served := strings.HasPrefix(have, image+" ")
	begun, later := l.pulls.begin(name, image, served, polls(source), time.Now())
	if later > 0 {
		l.queue.AddAfter(name, later)
	}
	if !begun {
		return
	}
	if !served {
		l.announce(name)
	}
	l.pulling.Go(func() {
		limited, cancel := context.WithTimeout(ctx, pullLimit)
		defer cancel()
		content, unlock, err := l.pullCatalog(limited, source, have)
		unused := l.pulled(ctx, name, image, have, content, err)
		unlock()
		l.dropContent(unused)
		if ctx.Err() == nil && content != nil && l.settled() {
			l.sweep()
		}
	})
}

// pulled puts to use what came of an attempt to get a catalog's image. It
// returns the digest that nobody serves any more, if there is one.
func (l *catalogLoader) pulled(ctx context.Context, name types.NamespacedName, image, have string, content *catalogServer, err error) (unused string) {
	served := strings.HasPrefix(have, image+" ")
	again := time.Time{}
	if err != nil {
		again = time.Now().Add(pullRetry)
		l.queue.AddAfter(name, pullRetry)
	}
	wanted := l.pulls.end(name, image, again)
	switch {
	case ctx.Err() != nil:
		content.stop(l.log)
	case !wanted && content != nil:
		content.stop(l.log)
		return content.digest
	case !wanted: // nor is why it failed
	case err != nil && served:
		l.log.Printf("catalog %s keeps its content: %v", name, err)
	case err != nil:
		l.standFor(name, err, true)
	case content != nil:
		l.put(name, content)
		return have
	}
	return ""
}

// polls is how often a CatalogSource wants its image looked at; zero for never.
func polls(source *operatorsv1alpha1.CatalogSource) time.Duration {
	s := source.Spec.UpdateStrategy
	if s == nil || s.RegistryPoll == nil || s.Interval == nil {
		return 0
	}
	return s.Interval.Duration
}

// pullCatalog serves the file-based catalog in an image; nil where that is what
// is served already, by its digest have. What was unpacked is kept: the next
// start finds it there. Other catalogs may have the same image: its directory is
// the caller's until unlock.
func (l *catalogLoader) pullCatalog(ctx context.Context, source *operatorsv1alpha1.CatalogSource, have string) (content *catalogServer, unlock func(), err error) {
	image := source.Spec.Image
	access, err := accessOf(ctx, l.client, source.Namespace, source.Spec.Secrets, source.Annotations)
	if err != nil {
		return nil, func() {}, err
	}
	img, err := l.images.get(ctx, image, access)
	if err != nil {
		return nil, func() {}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, func() {}, fmt.Errorf("read image %s: %w", image, err)
	}
	is := image + " " + digest.Hex
	if is == have {
		return nil, func() {}, nil // nothing new
	}
	unlock = l.lockUnpacked(digest.Hex)
	content, err = l.serveImage(ctx, img, filepath.Join(l.dir, digest.Hex), is)
	return content, unlock, err
}

// lockUnpacked waits for the lock of an unpacked image, and returns what gives it back.
func (l *catalogLoader) lockUnpacked(hex string) (unlock func()) {
	l.unpacked.LockKey(hex)
	return func() { _ = l.unpacked.UnlockKey(hex) } // it has no error to give
}

// serveImage serves the file-based catalog in an image, which is unpacked in
// dir, or will be.
func (l *catalogLoader) serveImage(ctx context.Context, img v1.Image, dir, digest string) (*catalogServer, error) {
	files := filepath.Join(dir, "content")
	if _, err := os.Stat(files); err != nil {
		if err := l.unpackCatalog(img, dir, files); err != nil {
			image, _, _ := strings.Cut(digest, " ")
			return nil, fmt.Errorf("unpack catalog image %s: %w", image, err)
		}
	}
	content, err := newCatalogServer(ctx, os.DirFS(files), filepath.Join(dir, "cache"), digest)
	if err != nil {
		return nil, err
	}
	content.dir = "" // kept
	return content, nil
}

// dropContent removes what was unpacked of an image that nobody serves any
// more, by the digest that it was served under.
func (l *catalogLoader) dropContent(digest string) {
	if _, hex, _ := strings.Cut(digest, " "); hex != "" {
		l.dropUnserved(hex)
	}
}

// dropUnserved removes an unpacked image, unless it is served.
func (l *catalogLoader) dropUnserved(hex string) {
	defer l.lockUnpacked(hex)()
	if l.serves(hex) {
		return
	}
	if err := os.RemoveAll(filepath.Join(l.dir, hex)); err != nil {
		l.log.Printf("drop an old catalog: %v", err)
	}
}

// settled reports whether all CatalogSources of images have the content of theirs.
func (l *catalogLoader) settled() bool {
	all, err := l.sources.List(labels.Everything())
	return err == nil && !slices.ContainsFunc(all, func(s *operatorsv1alpha1.CatalogSource) bool {
		have := l.digest(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
		return s.Spec.Image != "" && !strings.HasPrefix(have, s.Spec.Image+" ")
	})
}

// sweep drops what nobody serves of all that was unpacked: tags move while the
// cluster is stopped, too.
func (l *catalogLoader) sweep() {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		l.log.Printf("look for old catalogs: %v", err)
	}
	for _, e := range entries {
		l.dropUnserved(e.Name())
	}
}

// unpackCatalog puts the catalog of an image into files below dir, whole or not at all.
func (l *catalogLoader) unpackCatalog(img v1.Image, dir, files string) error {
	old, err := label(img, databaseLabel, "")
	if err != nil {
		return err
	}
	from, err := label(img, configsLabel, "/configs")
	if err != nil {
		return err
	}
	if old != "" {
		return errors.New("SQLite catalogs are no longer supported; render it as a file-based catalog")
	}
	tmp, err := os.MkdirTemp(l.scratch, "image-")
	if err != nil {
		return err
	}
	err = extract(img, map[string]string{from: tmp})
	if err == nil {
		err = errors.Join(os.MkdirAll(dir, 0o700), os.Rename(tmp, files))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	return nil
}
