package controlplane

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func mustPKI(t *testing.T, dir string, now time.Time) pki {
	t.Helper()
	p, err := ensurePKI(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPKIVerifies(t *testing.T) {
	p := mustPKI(t, t.TempDir(), noon)
	roots := x509.NewCertPool()
	roots.AddCert(p.ca.parsed)
	tests := map[string]struct {
		pair pair
		opts x509.VerifyOptions
	}{
		"server by address": {p.server, x509.VerifyOptions{DNSName: "127.0.0.1"}},
		"server by name":    {p.server, x509.VerifyOptions{DNSName: "kubernetes.default.svc"}},
		"server in cluster": {p.server, x509.VerifyOptions{DNSName: "240.0.0.1"}},
		"administrator":     {p.admin, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.opts.Roots, tc.opts.CurrentTime = roots, noon
			if _, err := tc.pair.parsed.Verify(tc.opts); err != nil {
				t.Error(err)
			}
		})
	}
	if err := p.proxy.parsed.CheckSignatureFrom(p.proxyCA.parsed); err != nil || p.proxy.parsed.Subject.CommonName != frontProxyName {
		t.Errorf("the client of aggregated APIs is %v, %v", p.proxy.parsed.Subject, err)
	}
	if p.admin.parsed.CheckSignatureFrom(p.proxyCA.parsed) == nil {
		t.Error("the CA of the administrator and that of aggregated APIs are one")
	}
	if got := p.admin.parsed.Subject.Organization; len(got) != 1 || got[0] != adminGroup {
		t.Errorf("the administrator's groups = %v", got)
	}
	other := x509.VerifyOptions{Roots: roots, CurrentTime: noon, DNSName: "192.168.0.1"}
	if _, err := p.server.parsed.Verify(other); err == nil {
		t.Error("the server's certificate is good for another address")
	}
}

func TestPKIIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	first := mustPKI(t, dir, noon)
	saKey := read(t, first.saKey)
	second := mustPKI(t, dir, noon.AddDate(0, 8, 0))
	for name, pairs := range map[string][2]pair{
		"ca": {first.ca, second.ca}, "server": {first.server, second.server}, "admin": {first.admin, second.admin},
		"proxy CA": {first.proxyCA, second.proxyCA}, "proxy": {first.proxy, second.proxy},
	} {
		if string(pairs[0].cert) != string(pairs[1].cert) || string(pairs[0].key) != string(pairs[1].key) {
			t.Errorf("%s was recreated", name)
		}
	}
	if read(t, second.saKey) != saKey {
		t.Error("the service account key was recreated")
	}
	for _, f := range []string{first.ca.keyFile, first.admin.keyFile, first.saKey} {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
			t.Errorf("mode of %s = %o, want 600", f, mode)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What is recreated, and what is not, when time passes or files are damaged.
func TestPKIIsRenewed(t *testing.T) {
	damage := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	lose := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := map[string]struct {
		change            func(*testing.T, string)
		years, months     int
		ca, leaf, account bool // are new
	}{
		"nothing happened":            {func(*testing.T, string) {}, 0, 0, false, false, false},
		"leaves near their end":       {func(*testing.T, string) {}, 0, 10, false, true, false},
		"leaves have ended":           {func(*testing.T, string) {}, 2, 0, false, true, false},
		"everything near its end":     {func(*testing.T, string) {}, 9, 11, true, true, false},
		"clock before the beginning":  {func(*testing.T, string) {}, -1, 0, true, true, false},
		"server certificate damaged":  {damage("apiserver.crt"), 0, 0, false, true, false},
		"server key lost":             {lose("apiserver.key"), 0, 0, false, true, false},
		"CA lost":                     {lose("ca.crt"), 0, 0, true, true, false},
		"CA key damaged":              {damage("ca.key"), 0, 0, true, true, false},
		"service account key damaged": {damage("sa.key"), 0, 0, false, false, true},
		"service account key lost":    {lose("sa.key"), 0, 0, false, false, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := mustPKI(t, dir, noon)
			saKey := read(t, first.saKey)
			tc.change(t, dir)
			now := noon.AddDate(tc.years, tc.months, 0)
			second := mustPKI(t, dir, now)
			if got := string(first.ca.cert) != string(second.ca.cert); got != tc.ca {
				t.Errorf("CA is new: %v, want %v", got, tc.ca)
			}
			if got := string(first.server.cert) != string(second.server.cert); got != tc.leaf {
				t.Errorf("server certificate is new: %v, want %v", got, tc.leaf)
			}
			if got := saKey != read(t, second.saKey); got != tc.account {
				t.Errorf("service account key is new: %v, want %v", got, tc.account)
			}
			roots := x509.NewCertPool()
			roots.AddCert(second.ca.parsed)
			if _, err := second.server.parsed.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now}); err != nil {
				t.Error(err)
			}
			if third := mustPKI(t, dir, now); string(third.server.cert) != string(second.server.cert) {
				t.Error("what was renewed is not kept")
			}
		})
	}
}

func TestCertificateOfAnotherKeyIsReplaced(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	first := mustPKI(t, dir, noon)
	strange := mustPKI(t, other, noon)
	if err := os.WriteFile(first.server.certFile, strange.server.cert, 0o600); err != nil {
		t.Fatal(err)
	}
	second := mustPKI(t, dir, noon)
	if string(second.server.cert) == string(strange.server.cert) {
		t.Error("a certificate of another key and CA was taken")
	}
}

func TestPKIFailsWhereItCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ensurePKI(filepath.Join(file, "pki"), noon); err == nil {
		t.Error("ensurePKI() below a file = nil")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ca.crt"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ensurePKI(dir, noon); err == nil {
		t.Error("ensurePKI() with an unreadable file = nil")
	}
}
