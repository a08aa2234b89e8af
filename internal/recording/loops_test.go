package recording

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// made is a write of the operator's, in a call and from a line.
func made(q *Request, reconcile string, line int) {
	q.User, q.Reconcile, q.Frames = operator, reconcile, []string{fmt.Sprintf("internal/controller/shop.go:%d", line)}
}

// set is a change of spec.size, or of another field.
func set(q *Request, path string, before, after any) {
	q.Changes = []Change{{Path: path, Old: before, New: after}}
}

func TestLoops(t *testing.T) {
	const line = "internal/controller/shop.go:9"
	shop, web := Object{"example.com", "Shop", "default", "s"}, Object{"apps", "Deployment", "default", "s-web"}
	tests := map[string]struct {
		rounds int
		// round is what happens in the call of that number, each ten seconds.
		round func(i int, c *Reconcile) []Request
		want  []Loop
	}{
		"writes without a change": {4, func(i int, c *Reconcile) []Request {
			return []Request{write(0, 0, "Deployment", "s-web", func(q *Request) { owned(q); made(q, c.ID, 9); q.Changes = nil })}
		}, []Loop{{Pattern: Unchanged, Object: web, Reconciled: shop, Count: 4, By: []string{line}}}},
		"two of them": {2, func(i int, c *Reconcile) []Request {
			return []Request{write(0, 0, "Deployment", "s-web", func(q *Request) { made(q, c.ID, 9); q.Changes = nil })}
		}, nil},
		"those of others": {9, func(i int, c *Reconcile) []Request {
			return []Request{write(0, 0, "Deployment", "s-web", func(q *Request) { q.Changes = nil })}
		}, nil},
		"a write that changes nothing after each that does": {9, func(i int, c *Reconcile) []Request {
			return []Request{
				write(0, 0, "Deployment", "s-web", func(q *Request) { made(q, c.ID, 9); set(q, "spec.replicas", i, i+1) }),
				write(0, 1, "Deployment", "s-web", func(q *Request) { made(q, c.ID, 9); q.Changes = nil }),
			}
		}, nil},
		"applied again": {9, func(i int, c *Reconcile) []Request {
			return []Request{write(0, 0, "Deployment", "s-web", func(q *Request) { made(q, c.ID, 9); q.Changes, q.Applied = nil, true })}
		}, nil},
		"dry runs": {9, func(i int, c *Reconcile) []Request {
			return []Request{write(0, 0, "Deployment", "s-web", func(q *Request) { made(q, c.ID, 9); q.DryRun = true })}
		}, nil},
		"conflicts, by a subresource": {3, func(i int, c *Reconcile) []Request {
			return []Request{write(0, 0, "Shop", "s", func(q *Request) {
				made(q, c.ID, 9)
				q.Subresource, q.Code, q.Message, q.Changes = "status", http.StatusConflict, "has been modified", nil
			}), write(0, 0, "Shop", "s", nil)}
		}, []Loop{{Pattern: Conflict, Object: shop, Reconciled: shop, Count: 3, By: []string{line}, Message: "has been modified"}}},
		"creates of what is there": {9, func(i int, c *Reconcile) []Request {
			return []Request{write(0, 0, "Deployment", "s-web", func(q *Request) {
				made(q, c.ID, 9)
				q.Verb, q.Code, q.Message, q.Changes = "create", http.StatusConflict, "already exists", nil
			})}
		}, nil},
		"conflicts that are retried": {9, func(i int, c *Reconcile) []Request {
			return []Request{
				write(0, 0, "Deployment", "s-web", func(q *Request) { made(q, c.ID, 9); q.Code, q.Changes = http.StatusConflict, nil }),
				write(0, 1, "Deployment", "s-web", func(q *Request) { made(q, c.ID, 9); set(q, "spec.replicas", i, i+1) }),
			}
		}, nil},
		"a field set back": {4, func(i int, c *Reconcile) []Request {
			return []Request{
				write(0, 0, "Deployment", "s-web", func(q *Request) { owned(q); made(q, c.ID, 9); set(q, "spec.replicas", 1, 3) }),
				write(0, 1, "Deployment", "s-web", func(q *Request) { owned(q); q.Agent = "hpa"; set(q, "spec.replicas", 3, 1) }),
			}
		}, []Loop{{Pattern: Fight, Object: web, Reconciled: shop, Field: "spec.replicas", Count: 7, By: []string{"hpa", line}}}},
		"a phase for each call": {9, func(i int, c *Reconcile) []Request {
			return []Request{write(0, 0, "Shop", "s", func(q *Request) {
				made(q, c.ID, 9+i%2)
				set(q, "status.phase", []string{"Ready", "Updating"}[i%2], []string{"Updating", "Ready"}[i%2])
			})}
		}, nil},
		"phases of a call": {9, func(i int, c *Reconcile) []Request {
			phase := func(line int, before, after string) Request {
				return write(0, 0, "Shop", "s", func(q *Request) { made(q, c.ID, line); set(q, "status.phase", before, after) })
			}
			return []Request{phase(9, "Ready", "Updating"), phase(10, "Updating", "Ready")}
		}, nil},
		"two controllers": {9, func(i int, c *Reconcile) []Request {
			c.Controller = []string{"ShopReconciler", "WebReconciler"}[i%2]
			return []Request{write(0, 0, "Deployment", "s-web", func(q *Request) { owned(q); made(q, c.ID, 9+i%2); set(q, "spec.replicas", 1+i%2, 2-i%2) })}
		}, []Loop{{Pattern: Fight, Object: web, Reconciled: shop, Field: "spec.replicas", Count: 8, By: []string{"internal/controller/shop.go:10", line}}}},
		"two lines of a call": {4, func(i int, c *Reconcile) []Request {
			return []Request{
				write(0, 0, "Deployment", "s-web", func(q *Request) { owned(q); made(q, c.ID, 9); set(q, "spec.replicas", 1, 3) }),
				write(0, 1, "Deployment", "s-web", func(q *Request) { owned(q); made(q, c.ID, 10); set(q, "spec.replicas", 3, 1) }),
			}
		}, []Loop{{Pattern: Fight, Object: web, Reconciled: shop, Field: "spec.replicas", Count: 4, By: []string{"internal/controller/shop.go:10", line}}}},
		"a field that two set to new values": {9, func(i int, c *Reconcile) []Request {
			return []Request{
				write(0, 0, "Deployment", "s-web", func(q *Request) { made(q, c.ID, 9); set(q, "spec.replicas", 2*i, 2*i+1) }),
				write(0, 1, "Deployment", "s-web", func(q *Request) { set(q, "spec.replicas", 2*i+1, 2*i+2) }),
			}
		}, nil},
		"a field that one sets back": {9, func(i int, c *Reconcile) []Request {
			return []Request{write(0, 0, "Deployment", "s-web", func(q *Request) { set(q, "spec.paused", i%2 == 0, i%2 != 0) })}
		}, nil},
		"its own status": {12, func(i int, c *Reconcile) []Request {
			c.Begin, c.End = second(float64(i)*0.2), second(float64(i)*0.2+0.1)
			return []Request{write(0, 0, "Shop", "s", func(q *Request) {
				made(q, c.ID, 9)
				q.Subresource, q.Time = "status", c.Begin.Add(50*time.Millisecond)
				set(q, "status.seen", i, i+1)
			})}
		}, []Loop{{Pattern: OwnWrites, Object: shop, Reconciled: shop, Field: "status.seen", Count: 11, By: []string{line}}}},
		"phases": {12, func(i int, c *Reconcile) []Request {
			c.Begin, c.End = second(float64(i)*0.2), second(float64(i)*0.2+0.1)
			return []Request{write(0, 0, "Shop", "s", func(q *Request) {
				made(q, c.ID, 9)
				q.Subresource, q.Time = "status", c.Begin.Add(50*time.Millisecond)
				set(q, fmt.Sprintf("status.conditions[%d]", i), nil, "True")
			})}
		}, nil},
		"requeued without an end": {20, func(i int, c *Reconcile) []Request {
			c.After = time.Second
			c.Begin, c.End = second(float64(i)*1.1), second(float64(i)*1.1+0.1)
			return nil
		}, []Loop{{Pattern: Storm, Object: shop, Reconciled: shop, Count: 19, By: []string{"ShopReconciler"}, Message: "requeued after 1s"}}},
		"requeued seldom": {60, func(i int, c *Reconcile) []Request { c.After = 9900 * time.Millisecond; return nil }, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Recording{Operator: operator, Since: second(-1), Requests: watches()}
			for i := range tc.rounds {
				c := call(fmt.Sprint(i), 10*float64(i), nil)
				for j, q := range tc.round(i, &c) {
					if q.Seq = uint64(len(r.Requests) + 1); q.Subresource != "status" || q.Code == http.StatusConflict {
						q.Time = c.Begin.Add(time.Duration(j) * time.Second)
					}
					r.Requests = append(r.Requests, q)
				}
				r.Reconciles = append(r.Reconciles, c)
			}
			var got []Loop
			for _, l := range r.Loops() {
				if l.Controller != "ShopReconciler" || l.First.After(l.Last) || l.Text() == "" {
					t.Errorf("loop: %+v", l)
				}
				l.First, l.Last, l.Controller = time.Time{}, time.Time{}, ""
				got = append(got, l)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("loops (-want +got):\n%s", diff)
			}
			if of := LoopsOf(r.Loops(), Object{"", "shop", "default", "s"}); len(of) != len(tc.want) {
				t.Errorf("of the shop: %+v", of)
			}
			if of := LoopsOf(r.Loops(), Object{"", "Shop", "default", "other"}); len(of) > 0 {
				t.Errorf("of another: %+v", of)
			}
		})
	}
}

// TestLoopsOver: what has stopped is told from what goes on, and a loop that has
// begun again goes on.
func TestLoopsOver(t *testing.T) {
	// rounds are calls that change what leads to the next one.
	rounds := func(r *Recording, n int, at float64) {
		for i := range n {
			c := call(fmt.Sprint(at, i), at+float64(i)*0.2, nil)
			r.Reconciles = append(r.Reconciles, c)
			r.Requests = append(r.Requests, write(uint64(len(r.Requests)+1), 0, "Shop", "s", func(q *Request) {
				made(q, c.ID, 9)
				q.Time = c.Begin.Add(50 * time.Millisecond)
				set(q, "status.seen", i, i+1)
			}))
		}
	}
	for name, tc := range map[string]struct {
		second float64 // when it begins again; 0: never
		until  float64
		over   bool
		count  int
	}{
		"it goes on":     {0, 6, false, 14},
		"it is over":     {0, 30, true, 14},
		"it began again": {60, 63, false, 11},
		"both are over":  {60, 90, true, 11},
		"of another age": {0, 0, false, 14}, // nobody said when it was asked for
	} {
		r := Recording{Operator: operator, Since: second(-1), Requests: watches()}
		if tc.until > 0 {
			r.Until = second(tc.until)
		}
		rounds(&r, 15, 1)
		if tc.second > 0 {
			rounds(&r, 12, tc.second)
		}
		loops := r.Loops()
		if len(loops) != 1 || loops[0].Over != tc.over || loops[0].Count != tc.count {
			t.Errorf("%s: %+v", name, loops)
		}
	}
}

// BenchmarkLoops is for a full recording.
func BenchmarkLoops(b *testing.B) {
	const calls, writes = 20_000, 45_000
	r := Recording{Operator: operator, Since: second(-1), Requests: watches()}
	for i := range writes {
		name := fmt.Sprint(i % 200)
		r.Requests = append(r.Requests, write(uint64(i), float64(i)/10, "Deployment", name, func(q *Request) { q.Owners = []Owner{{Kind: "Shop", Name: name}} }))
	}
	for i := range calls {
		r.Reconciles = append(r.Reconciles, call(fmt.Sprint(i), float64(i)/5+0.01, func(c *Reconcile) { c.Name = fmt.Sprint(i % 200) }))
	}
	for b.Loop() {
		r.Loops()
	}
}
