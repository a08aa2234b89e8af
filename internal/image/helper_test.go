package image

import (
	"archive/tar"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// tinyMain is an operator that is compiled in no time.
const tinyMain = `package main

import "os"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--help" {
		os.Stdout.WriteString("Usage of manager\n")
		return
	}
	os.Exit(3)
}
`

// project writes a small module into a new world and returns it with a file of
// certificates for the base scratch.
func project(t testing.TB) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	w.Env["GOWORK"] = "off"
	write(t, filepath.Join(w.Dir, "go.mod"), "module example.com/tiny\n\ngo 1.26\n")
	write(t, filepath.Join(w.Dir, "cmd", "main.go"), tinyMain)
	w.Env["SSL_CERT_FILE"] = filepath.Join(w.Env["MYSDK_CACHE_DIR"], "authorities.pem")
	write(t, w.Env["SSL_CERT_FILE"], authority())
	return w
}

// faked is a project whose go command is played by copying: compiled is what
// was asked of it.
func faked(t testing.TB) (*hosttest.World, *fakeGo) {
	t.Helper()
	w := project(t)
	g := &fakeGo{program: tinyProgram(t)}
	w.Exec = g
	return w, g
}

func write(t testing.TB, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// authority is a certificate of an authority in PEM, always the same one in a
// run of the tests.
var authority = sync.OnceValue(func() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		log.Panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
})

// tinyProgram is tinyMain, compiled once.
func tinyProgram(t testing.TB) []byte {
	t.Helper()
	data, err := compileTiny()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var compileTiny = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "tiny")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/tiny\n\ngo 1.26\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte(tinyMain), 0o644))
	if err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-o", "tiny", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	return os.ReadFile(filepath.Join(dir, "tiny"))
})

// fakeGo stands in for the go command: its build writes the program.
type fakeGo struct {
	program []byte
	output  string        // printed before it fails, if not empty
	takes   time.Duration // until its build is done
	calls   []host.Cmd
}

func (g *fakeGo) LookPath(name string) (string, error) { return "/usr/bin/" + name, nil }

func (g *fakeGo) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	g.calls = append(g.calls, c)
	return &fakeProcess{ctx, g, c}, nil
}

type fakeProcess struct {
	ctx  context.Context
	tool *fakeGo
	cmd  host.Cmd
}

func (p *fakeProcess) Pid() int         { return 1 }
func (p *fakeProcess) Interrupt() error { return nil }
func (p *fakeProcess) Kill() error      { return nil }
func (p *fakeProcess) Wait() error {
	if p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	if p.tool.output != "" {
		_, err := io.WriteString(p.cmd.Stderr, p.tool.output)
		return errors.Join(errors.New("exit status 1"), err)
	}
	time.Sleep(p.tool.takes)
	out := p.cmd.Args[slices.Index(p.cmd.Args, "-o")+1]
	return errors.Join(os.MkdirAll(filepath.Dir(out), 0o755), os.WriteFile(out, p.tool.program, 0o755))
}

// env is a variable of a command, the last one of that name.
func env(c host.Cmd, key string) string {
	value := "(unset)"
	for _, e := range c.Env {
		if v, ok := strings.CutPrefix(e, key+"="); ok {
			value = v
		}
	}
	return value
}

// serve runs a registry in this process and returns its address.
func serve(t testing.TB, options ...registry.Option) string {
	t.Helper()
	s := httptest.NewServer(registry.New(append(options, registry.Logger(log.New(io.Discard, "", 0)))...))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// build builds with the options and the project's directory.
func build(t testing.TB, w *hosttest.World, o BuildOptions) Built {
	t.Helper()
	o.Dir = w.Dir
	built, err := Build(t.Context(), w.Host, o)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// stored is an image from the store.
func stored(t testing.TB, w *hosttest.World, image string) *content {
	t.Helper()
	tag, err := parseTag(image)
	if err != nil {
		t.Fatal(err)
	}
	c, release, err := openStored(t.Context(), w.Host, tag, imageBuilder, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	return c
}

// files maps the paths in an image to their headers, and to the content of
// regular files.
func files(t testing.TB, img v1.Image) (map[string]tar.Header, map[string]string) {
	t.Helper()
	r := mutate.Extract(img)
	defer r.Close()
	headers, contents := map[string]tar.Header{}, map[string]string{}
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name], contents[h.Name] = *h, string(data)
	}
}

func mustRef(t testing.TB, s string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(s)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
