package httpclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	userAgent    = "Jakarta Commons-HttpClient/3.1"
	maxRedirects = 100
)

// Client makes requests. Its fields must not change while it is used.
type Client struct {
	// Dial connects to a host of a URL.
	Dial func(ctx context.Context, host string, port int) (net.Conn, error)
	// Slot waits until one more connection to the server of this key is allowed; the returned function gives it back. It fails
	// only when ctx ends.
	Slot func(ctx context.Context, key string) (release func(), err error)
	// Roots are the trusted authorities, Now is the time that certificates are checked at.
	Roots *x509.CertPool
	Now   func() time.Time
	// FollowRedirects goes where 301, 302, 303 and 307 point.
	FollowRedirects bool
	// User and Password are sent with the first request already, when User is not empty.
	User, Password string
}

// Get requests l, from byte from on when that is above 0. The answer's Body must be closed. Every error is an *Error.
func (c *Client) Get(ctx context.Context, l Location, from int64) (*Answer, error) {
	seen := map[string]bool{}
	for range maxRedirects + 1 {
		a, err := c.attempt(ctx, l, from)
		if err != nil {
			return nil, err
		}
		a.Location = l
		header, ok := a.redirect(c.FollowRedirects)
		if !ok {
			return a, nil
		}
		_ = a.Close()
		current := l
		current.Port = l.port()
		seen[current.withoutQuery()] = true
		if l, err = l.resolve(header); err != nil {
			return nil, err
		}
		if l.Scheme != "http" && l.Scheme != "https" {
			return nil, &Error{Text: fmt.Sprintf("unsupported protocol: '%s'", l.Scheme), Unchecked: true}
		}
		if seen[l.withoutQuery()] {
			return nil, textf("Circular redirect to '%s'", l.withoutQuery())
		}
	}
	return nil, textf("Maximum redirects (%d) exceeded", maxRedirects)
}

// redirect returns where an answer points, if the client is to follow.
func (a *Answer) redirect(follow bool) (string, bool) {
	if !follow {
		return "", false
	}
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
		return a.Header("Location")
	}
	return "", false
}

// attempt sends one request. It tries once more when the request could not be sent or the server closed without an answer.
func (c *Client) attempt(ctx context.Context, l Location, from int64) (*Answer, error) {
	a, sent, err := c.send(ctx, l, from)
	var failure *Error
	if errors.As(err, &failure) && (failure.NoAnswer || !sent) && ctx.Err() == nil {
		a, _, err = c.send(ctx, l, from)
	}
	return a, err
}

func (c *Client) send(ctx context.Context, l Location, from int64) (a *Answer, sent bool, err error) {
	release, err := c.Slot(ctx, l.Key())
	if err != nil {
		return nil, false, translate(err)
	}
	conn, err := c.connect(ctx, l)
	if err != nil {
		release()
		return nil, false, translate(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	a = &Answer{conn: conn, r: bufio.NewReaderSize(conn, 32<<10), host: l.Host, done: func() { stop(); release() }}
	if _, err := conn.Write([]byte(c.head(l, from))); err != nil {
		_ = a.Close()
		return nil, false, translate(err)
	}
	if err := a.read(); err != nil {
		_ = a.Close()
		return nil, true, translate(err)
	}
	return a, true, nil
}

func (c *Client) head(l Location, from int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\n", l.target())
	if c.User != "" {
		fmt.Fprintf(&b, "Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(c.User+":"+c.Password)))
	}
	fmt.Fprintf(&b, "User-Agent: %s\r\n", userAgent)
	if from > 0 {
		fmt.Fprintf(&b, "Range: bytes=%d-\r\n", from)
	}
	fmt.Fprintf(&b, "Host: %s\r\n\r\n", l.hostHeader())
	return b.String()
}

func (c *Client) connect(ctx context.Context, l Location) (net.Conn, error) {
	conn, err := c.Dial(ctx, l.Host, l.port())
	if err != nil || l.Scheme != "https" {
		return conn, err
	}
	// The chain is checked, the name in the certificate is not: that is how the library is set up.
	secure := tls.Client(conn, &tls.Config{ServerName: l.Host, InsecureSkipVerify: true, VerifyConnection: c.verify})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

func (c *Client) verify(state tls.ConnectionState) error {
	o := x509.VerifyOptions{Roots: c.Roots, Intermediates: x509.NewCertPool(), CurrentTime: c.Now()}
	if o.Roots == nil {
		o.Roots = x509.NewCertPool()
	}
	for _, cert := range state.PeerCertificates[1:] {
		o.Intermediates.AddCert(cert)
	}
	_, err := state.PeerCertificates[0].Verify(o)
	return err
}
