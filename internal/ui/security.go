package ui

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
)

// policy lets a page load what this server has, and nothing else. Inline scripts
// and styles are refused, so that text of an object that would get into a page
// unescaped could still do nothing.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// maxForm bounds the body of a POST, in bytes.
const maxForm = 4 << 20

// guard lets only the person in who has the address with the token. A page of
// another site, or of another port of this machine, gets neither an answer nor
// an effect, whatever name it gives this address; nor does another user.
type guard struct {
	token   string
	once    string      // another token, that is good for one use
	used    atomic.Bool // it was used
	session string      // value of the cookie
	cookie  string      // its name; browsers do not tell ports apart
	hosts   []string    // by which a browser on this machine calls the address
	next    http.Handler
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Referrer-Policy", "same-origin") // no-referrer would make the Origin of forms null
	head.Set("Cache-Control", "no-store")
	if why := g.foreign(r); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	if r.Method == http.MethodGet && r.URL.Path == "/" && g.knows(r.URL.Query().Get("token")) {
		http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if c, err := r.Cookie(g.cookie); err != nil || !same(c.Value, g.session) {
		http.Error(w, "Open the address that mysdk has printed, with its token.", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	g.next.ServeHTTP(w, r)
}

// foreign says why a request is not one of our pages', or of somebody who
// typed the address; empty if it is.
func (g *guard) foreign(r *http.Request) string {
	if !slices.Contains(g.hosts, r.Host) {
		return fmt.Sprintf("this is not %s", r.Host)
	}
	writes := r.Method != http.MethodGet && r.Method != http.MethodHead
	if origin := r.Header.Get("Origin"); origin != "" || writes {
		if origin != "http://"+r.Host {
			return "not a request of this site"
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		if writes || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return "not a request of this site"
		}
	}
	return ""
}

// knows reports whether a token is good, and takes note of its use.
func (g *guard) knows(token string) bool {
	return same(token, g.token) || same(token, g.once) && g.used.CompareAndSwap(false, true)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
