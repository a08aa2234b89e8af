package controlplane

import (
	"net"
	"testing"

	"github.com/example/mysdk/internal/clierr"
)

func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenPort := taken.Addr().(*net.TCPAddr).Port
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	freePort := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		want, kept int
		port       int // 0: any of ours
		fails      bool
	}{
		"first start":       {0, 0, 0, false},
		"kept":              {0, freePort, freePort, false},
		"kept but taken":    {0, takenPort, 0, false},
		"asked for":         {freePort, 0, freePort, false},
		"asked for, kept":   {freePort, takenPort, freePort, false},
		"asked for, taken":  {takenPort, freePort, 0, true},
		"kept is nonsense":  {0, -5, 0, false},
		"asked for nothing": {-5, 0, 0, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l, port, err := listen(tc.want, tc.kept)
			if tc.fails {
				if err == nil || clierr.HintOf(err) == "" {
					t.Fatalf("listen() = %d, %v, want an error with a hint", port, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			address := l.Addr().(*net.TCPAddr)
			if !address.IP.IsLoopback() || address.Port != port {
				t.Errorf("listens on %s, says %d", address, port)
			}
			if tc.port != 0 && port != tc.port {
				t.Errorf("port %d, want %d", port, tc.port)
			}
			if tc.port == 0 && (port < firstPort || port >= firstPort+numPorts) {
				t.Errorf("port %d is none of ours", port)
			}
		})
	}
}
