package image

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // SPDX asks for it beside SHA-256
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
)

// buildGrace is how long the go command may take to end after Ctrl-C.
const buildGrace = 5 * time.Second

type binary struct {
	platform     v1.Platform
	path         string // on this machine
	size         int64  // bytes
	sha1, sha256 string // hexadecimal
	info         *buildinfo.BuildInfo
}

// workDir makes the directory of the project's builds: outside the project,
// and apart from those of other projects.
func workDir(h host.Host, dir string) (string, error) {
	cache, err := h.CacheDir()
	if err != nil {
		return "", clierr.WithHint(fmt.Errorf("find the cache directory: %w", err), "set MYSDK_CACHE_DIR to a directory of yours")
	}
	work := filepath.Join(cache, "image", "build", fmt.Sprintf("%.12x", sha256.Sum256([]byte(dir))))
	if err := os.MkdirAll(work, 0o755); err != nil {
		return "", fmt.Errorf("make a directory for the build: %w", err)
	}
	return work, nil
}

// SourceDate is the time that everything in the image bears: SOURCE_DATE_EPOCH
// (https://reproducible-builds.org/specs/source-date-epoch/), else 1970.
func SourceDate(h host.Host) (at time.Time, set bool, err error) {
	text := h.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Unix(0, 0).UTC(), false, nil
	}
	sec, err := strconv.ParseInt(text, 10, 64)
	// Years of more than four digits have no place in the image's configuration.
	if err != nil || sec < 0 || time.Unix(sec, 0).UTC().Year() > 9999 {
		return time.Time{}, false, clierr.Usagef("set it as in SOURCE_DATE_EPOCH=$(git log -1 --format=%ct), or unset it",
			"SOURCE_DATE_EPOCH is %q, which is not a number of seconds since 1970", text)
	}
	return time.Unix(sec, 0).UTC(), true, nil
}

// compile runs the go command for one platform. The result stays at its place,
// so that the next build of unchanged source links nothing.
func (b *builder) compile(ctx context.Context, p v1.Platform) (*binary, error) {
	b.progress("compiling for %s: go build %s", platformName(p), b.mainPkg)
	bin := &binary{platform: p, path: filepath.Join(b.work, platformFile(p), "manager")}
	env := append(b.host.Environ(), goEnv(p)...)
	// There is no C library in the image, whatever the user's setting is.
	env = append(env, "CGO_ENABLED=0")
	if b.Offline {
		env = append(env, "GOPROXY=off", "GONOPROXY=none") // a private module would be fetched all the same
	}
	var out bytes.Buffer
	err := host.Run(ctx, b.host.Exec, host.Cmd{
		Name: b.goTool, Args: []string{"build", "-trimpath", "-ldflags=" + strings.TrimSpace("-s -w "+b.GoLDFlags), "-o", bin.path, b.mainPkg},
		Dir: b.Dir, Env: env, Stdout: &out, Stderr: &out, Group: true, Grace: buildGrace, DieWithParent: true,
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, b.buildError(p, out.String(), err)
	}
	return bin, bin.inspect()
}

// buildError is the go command's failure with the end of what it printed.
func (b *builder) buildError(p v1.Platform, output string, err error) error {
	hint := cmp.Or(mainpkg.Hint(output), "correct it") + ", then build again"
	if strings.Contains(output, "error obtaining VCS status") {
		hint = "make git trust the directory, or run 'go env -w GOFLAGS=-buildvcs=false'"
	}
	said := cmp.Or(mainpkg.Head(output), err.Error())
	return clierr.Failedf(hint, "compile for %s: go build %s failed:\n  %s", platformName(p), b.mainPkg, strings.ReplaceAll(said, "\n", "\n  "))
}

// inspect reads what the layer and the SBOM need to know of the program.
func (bin *binary) inspect() error {
	info, err := buildinfo.ReadFile(bin.path)
	if err != nil {
		return clierr.Failedf("its main package must be 'package main'", "read the build information of %s: %w", bin.path, err)
	}
	f, err := os.Open(bin.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	h1, h256 := sha1.New(), sha256.New()
	if bin.size, err = io.Copy(io.MultiWriter(h1, h256), f); err != nil {
		return fmt.Errorf("read the compiled program: %w", err)
	}
	bin.info, bin.sha1, bin.sha256 = info, hex.EncodeToString(h1.Sum(nil)), hex.EncodeToString(h256.Sum(nil))
	return nil
}
