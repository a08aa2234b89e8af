package olm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/operator-framework/api/crds"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

const (
	// releases is where OLM's project publishes its manifests.
	releases = "https://github.com/operator-framework/operator-lifecycle-manager/releases/download/v"
	// maxManifest bounds a downloaded file, in bytes; OLM's CRDs are 1.2 MB.
	maxManifest = 32 << 20
	// downloadTimeout bounds one download.
	downloadTimeout = time.Minute
	// publicRegistry is where OLM's manifests take all images from.
	publicRegistry = "quay.io/"
)

// Manifests are all objects of one OLM.
type Manifests struct {
	Version   string // of OLM without "v"; "" if the manifests do not tell
	Namespace string // of OLM
	CRDs      []*unstructured.Unstructured
	Objects   []*unstructured.Unstructured // the rest
}

// All are the CRDs and the rest.
func (m Manifests) All() []*unstructured.Unstructured { return slices.Concat(m.CRDs, m.Objects) }

// DropCatalog leaves out the catalog of operatorhub.io.
func (m *Manifests) DropCatalog() {
	m.Objects = slices.DeleteFunc(m.Objects, func(u *unstructured.Unstructured) bool {
		return u.GetKind() == "CatalogSource" && u.GetName() == defaultCatalog
	})
}

// ofKind are the objects of a kind, which is not that of CRDs.
func (m Manifests) ofKind(kind string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(m.Objects), func(u *unstructured.Unstructured) bool { return u.GetKind() != kind })
}

// Source says where manifests come from, and what to change in them.
// The zero value is BuiltIn.
type Source struct {
	Host      host.Host
	Client    *http.Client // for downloads; nil: the default one
	Version   string       // another one than Version is downloaded from OLM's project
	Place     string       // directory or file, or URL of a file or of the place of crds.yaml and olm.yaml; over Version
	Sums      []string     // SHA-256 in hex of each file, in their order; required for a URL at Place
	Namespace string       // of OLM; only the built-in manifests go elsewhere than to DefaultNamespace
	Registry  string       // that has copies of the images of quay.io
	Catalog   bool         // with the catalog of operatorhub.io
	Warn      func(string)
}

// Load reads or makes the manifests.
func (s Source) Load(ctx context.Context) (Manifests, error) {
	s.Namespace = cmp.Or(s.Namespace, DefaultNamespace)
	m, err := s.raw(ctx)
	if err != nil {
		return Manifests{}, err
	}
	if !s.Catalog {
		m.DropCatalog()
	}
	if s.Registry != "" {
		mirror := strings.TrimSuffix(s.Registry, "/") + "/"
		for _, u := range m.Objects {
			redirect(u.Object, mirror)
		}
	}
	return m, nil
}

func (s Source) raw(ctx context.Context) (Manifests, error) {
	version, err := CleanVersion(s.Version)
	if err != nil {
		return Manifests{}, err
	}
	if s.Place == "" && version == Version {
		if len(s.Sums) > 0 {
			return Manifests{}, clierr.Usagef("leave out --sha256", "the manifests of OLM %s are built in: there is nothing to check", version)
		}
		return BuiltIn(s.Namespace)
	}
	if s.Place == "" && len(s.Sums) == 0 {
		s.Warn(fmt.Sprintf("OLM %s is not the built-in %s: its manifests come from GitHub, unchecked; --sha256 checks them", version, Version))
	}
	files, err := s.files(ctx, cmp.Or(s.Place, releases+version))
	if err == nil {
		err = s.check(files)
	}
	if err != nil {
		return Manifests{}, err
	}
	m, err := parse(files)
	if err == nil && s.Namespace != DefaultNamespace && s.Namespace != m.Namespace {
		err = clierr.Usagef("leave out --olm-namespace", "the manifests put OLM into namespace %s, not %s", m.Namespace, s.Namespace)
	}
	return m, err
}

type file struct {
	name string
	data []byte
}

func (s Source) files(ctx context.Context, place string) ([]file, error) {
	switch {
	case !isURL(place):
		return s.local()
	case isYAML(place):
		return s.download(ctx, place)
	}
	base := strings.TrimSuffix(place, "/")
	return s.download(ctx, base+"/crds.yaml", base+"/olm.yaml")
}

func isURL(place string) bool {
	return strings.HasPrefix(place, "https://") || strings.HasPrefix(place, "http://")
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// check compares the files with their sums.
func (s Source) check(files []file) error {
	var sums []string
	for _, f := range files {
		sums = append(sums, fmt.Sprintf("%x", sha256.Sum256(f.data)))
	}
	if len(s.Sums) == 0 && !isURL(s.Place) {
		return nil
	}
	hint := "if these are the files you want, add --sha256 " + strings.Join(sums, ",")
	if len(s.Sums) == 0 {
		return clierr.Usagef(hint, "manifests from a URL need their checksum")
	}
	if len(s.Sums) != len(sums) {
		return clierr.Usagef("give one for each file, in this order", "%d checksums for %d files", len(s.Sums), len(sums))
	}
	for i, f := range files {
		if !strings.EqualFold(s.Sums[i], sums[i]) {
			return clierr.Failedf(hint, "%s: its SHA-256 is %s, not %s", f.name, sums[i], s.Sums[i])
		}
	}
	return nil
}

// local reads a file, or the YAML files of a directory in the order of their names.
func (s Source) local() ([]file, error) {
	place := s.Host.Path(s.Place)
	entries, err := s.Host.Files.ReadDir(place)
	if err != nil {
		data, err := s.Host.Files.ReadFile(place)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, clierr.Usagef("give a directory, a file or a URL", "read the manifests: there is no %s", s.Place)
		}
		return []file{{s.Place, data}}, err
	}
	var files []file
	for _, e := range entries {
		if e.IsDir() || !isYAML(e.Name()) {
			continue
		}
		data, err := s.Host.Files.ReadFile(s.Host.Path(s.Place + "/" + e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the manifests: %w", err)
		}
		files = append(files, file{s.Place + "/" + e.Name(), data})
	}
	return files, nil
}

func (s Source) download(ctx context.Context, urls ...string) ([]file, error) {
	var files []file
	for _, u := range urls {
		data, err := s.get(ctx, u)
		if err != nil {
			return nil, clierr.WithHint(fmt.Errorf("download %s: %w", u, err), "leave out --version and --manifests for the built-in OLM "+Version+", which needs no network")
		}
		files = append(files, file{u, data})
	}
	return files, nil
}

// get downloads a manifest, of a bounded size: what answers may be anything.
func (s Source) get(ctx context.Context, from string) ([]byte, error) {
	if err := checkURL(from); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := cmp.Or(s.Client, http.DefaultClient).Do(req)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	err = errors.Join(err, resp.Body.Close())
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the server answers %s", resp.Status)
	case len(data) > maxManifest:
		return nil, fmt.Errorf("it is larger than %d MiB", maxManifest>>20)
	}
	return data, nil
}

// checkURL lets plain http through to this machine only.
func checkURL(from string) error {
	u, err := url.Parse(from)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "https" || u.Hostname() == "localhost" || ip.IsLoopback() {
		return nil
	}
	return errors.New("OLM manifests must be downloaded over https")
}

// parse finds out what the files hold.
func parse(files []file) (Manifests, error) {
	m := Manifests{Namespace: DefaultNamespace}
	for _, f := range files {
		if bytes.HasPrefix(bytes.TrimSpace(f.data), []byte("<")) {
			return m, clierr.Usagef("check the address", "%s is a web page, not a manifest", f.name)
		}
		objects, err := kube.ParseManifests(f.data, f.name)
		if err != nil {
			return m, err
		}
		for _, u := range objects {
			m.add(u)
		}
	}
	if !slices.ContainsFunc(m.CRDs, func(u *unstructured.Unstructured) bool { return u.GetName() == csvCRD }) {
		return m, clierr.Usagef("give the place of OLM's crds.yaml and olm.yaml", "the manifests have no CRD %s: they are not OLM's", csvCRD)
	}
	annotate(m.CRDs, m.Namespace)
	return m, nil
}

func (m *Manifests) add(u *unstructured.Unstructured) {
	switch {
	case u.GetKind() == "CustomResourceDefinition":
		m.CRDs = append(m.CRDs, u)
		return
	case u.GetKind() == "Deployment" && u.GetName() == catalog:
		m.Namespace = u.GetNamespace()
	case u.GetKind() == "ClusterServiceVersion" && u.GetName() == packageServer:
		m.Version = strings.TrimPrefix(u.GetLabels()[versionLabel], "v")
	}
	m.Objects = append(m.Objects, u)
}

// redirect replaces the public registry in all image references below value.
func redirect(value any, mirror string) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			v[key] = redirect(field, mirror)
		}
	case []any:
		for i, item := range v {
			v[i] = redirect(item, mirror)
		}
	case string:
		if rest, ok := strings.CutPrefix(v, publicRegistry); ok {
			return mirror + rest
		}
		// An argument: --opmImage=quay.io/…
		if flag, rest, ok := strings.Cut(v, "="+publicRegistry); ok && strings.HasPrefix(flag, "--") {
			return flag + "=" + mirror + rest
		}
	}
	return value
}

//go:embed olm.yaml.tmpl
var manifestsText string

// BuiltIn are the manifests of Version for an OLM in the namespace: the CRDs sorted by
// name, the objects in the order of OLM's own manifests, with the catalog of
// operatorhub.io.
func BuiltIn(namespace string) (Manifests, error) {
	names := crds.AssetNames()
	slices.Sort(names)
	// A megabyte of YAML: side by side they take half the time.
	parsed := make([][]*unstructured.Unstructured, len(names))
	var work errgroup.Group
	for i, name := range names {
		work.Go(func() error {
			data, err := crds.Asset(name)
			if err == nil {
				parsed[i], err = kube.ParseManifests(data, name)
			}
			return err
		})
	}
	objects, err := kube.RenderManifests(manifestsText, "olm.yaml", map[string]string{"Namespace": namespace, "Version": Version})
	if err := errors.Join(work.Wait(), err); err != nil {
		return Manifests{}, err
	}
	return Manifests{Version, namespace, annotate(slices.Concat(parsed...), namespace), objects}, nil
}

// annotate tells the embedded cluster where OLM is.
func annotate(list []*unstructured.Unstructured, namespace string) []*unstructured.Unstructured {
	for _, u := range list {
		if u.GetName() != csvCRD || namespace == DefaultNamespace {
			continue
		}
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[state.OLMNamespaceAnnotation] = namespace
		u.SetAnnotations(annotations)
	}
	return list
}
