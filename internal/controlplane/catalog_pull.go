package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// configsLabel names the directory of a catalog image that has the catalog.
	configsLabel = "operators.operatorframework.io.index.configs.v1"
	// databaseLabel is on catalog images of the kind before.
	databaseLabel = "operators.operatorframework.io.index.database.v1"
	// pullRetry is the pause after a catalog image could not be pulled.
	pullRetry = 20 * time.Second
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

// begin reports whether an image is to be pulled now, which is then noted. One
// that is served already is looked at anew when every has passed, and never for
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

// forget drops what is known of a catalog.
func (p *pulls) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.state, name)
}

// loadImage has the content of a catalog image pulled and served, unless it is
// served already and need not be looked at again. The loader does not wait for
// that.
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
		content, err := l.pullCatalog(ctx, source, have)
		again := time.Time{}
		if err != nil {
			again = time.Now().Add(pullRetry)
			l.queue.AddAfter(name, pullRetry)
		}
		wanted := l.pulls.end(name, image, again)
		switch {
		case ctx.Err() != nil || !wanted:
			content.stop(l.log)
		case err != nil && served:
			l.log.Printf("catalog %s keeps its content: %v", name, err)
		case err != nil:
			l.fail(name, err)
		case content != nil:
			l.put(name, content)
			if served {
				l.dropContent(have)
			}
		}
	})
}

// polls is how often a CatalogSource wants its image looked at; zero for
// never.
func polls(source *operatorsv1alpha1.CatalogSource) time.Duration {
	s := source.Spec.UpdateStrategy
	if s == nil || s.RegistryPoll == nil || s.Interval == nil {
		return 0
	}
	return s.Interval.Duration
}

// pullCatalog serves the file-based catalog in an image; nil where that is what
// is served already, by its digest have. What was unpacked is kept: the next
// start finds it there.
func (l *catalogLoader) pullCatalog(ctx context.Context, source *operatorsv1alpha1.CatalogSource, have string) (*catalogServer, error) {
	image := source.Spec.Image
	access, err := accessOf(ctx, l.client, source.Namespace, source.Spec.Secrets, source.Annotations)
	if err != nil {
		return nil, err
	}
	img, err := l.images.get(ctx, image, access)
	if err != nil {
		return nil, err
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, fmt.Errorf("read image %s: %w", image, err)
	}
	is := image + " " + digest.Hex
	if is == have {
		return nil, nil //nolint:nilnil // nothing new
	}
	dir := filepath.Join(l.dir, digest.Hex)
	files := filepath.Join(dir, "content")
	if _, err := os.Stat(files); err != nil {
		if err := unpackCatalog(img, dir, files); err != nil {
			return nil, fmt.Errorf("unpack catalog image %s: %w", image, err)
		}
	}
	content, err := newCatalogServer(ctx, os.DirFS(files), filepath.Join(dir, "cache"), is)
	if err != nil {
		return nil, err
	}
	content.dir = "" // kept
	return content, nil
}

// dropContent removes what was unpacked of an image that nobody serves any
// more, by the digest that it was served under.
func (l *catalogLoader) dropContent(digest string) {
	_, hex, _ := strings.Cut(digest, " ")
	if hex == "" || l.serves(hex) {
		return
	}
	if err := os.RemoveAll(filepath.Join(l.dir, hex)); err != nil {
		l.log.Printf("drop an old catalog: %v", err)
	}
}

// unpackCatalog puts the catalog of an image into files, whole or not at all.
func unpackCatalog(img v1.Image, dir, files string) error {
	old, err := label(img, databaseLabel, "")
	if err != nil {
		return err
	}
	from, err := label(img, configsLabel, "/configs")
	if err != nil {
		return err
	}
	if old != "" {
		return errors.New("it holds a catalog in a database, which nothing reads any more: render it as a file-based one")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, "unpack-")
	if err != nil {
		return err
	}
	if err := extract(img, map[string]string{from: tmp}); err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	return os.Rename(tmp, files)
}
