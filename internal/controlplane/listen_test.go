package controlplane

import (
	"net"
	"testing"
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
		kept int
		port int // 0: any of ours
	}{
		"first start":      {0, 0},
		"kept":             {freePort, freePort},
		"kept but taken":   {takenPort, 0},
		"kept is nonsense": {-5, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l, port, err := listen(tc.kept)
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
