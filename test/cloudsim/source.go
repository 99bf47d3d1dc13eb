package cloudsim

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// suffixesOf are the endings of a URL path that belong to a format, without compression.
func suffixesOf(format string) []string {
	switch format {
	case "QCOW2":
		return []string{"qcow2", "img"}
	case "RAW":
		return []string{"raw", "img"}
	default:
		return []string{strings.ToLower(format)}
	}
}

// allSuffixes are the endings that some format has.
func allSuffixes() []string {
	return []string{"vhd", "vhdx", "qcow2", "img", "ova", "tar", "raw", "vmdk", "iso"}
}

// compressions are the endings that may follow.
func (s *Server) compressions() []string {
	list := []string{"zip", "bz2", "gz"}
	if s.knows("4.22") {
		list = append(list, "xz")
	}
	return list
}

// checkSource checks the URL of an image as the server does: path ending, scheme, host.
func (c *call) checkSource(raw, format string) error {
	lower := strings.ToLower(raw)
	if strings.HasPrefix(lower, "file:") {
		return invalid("File:// type urls are currently unsupported")
	}
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return badParam("Unsupported scheme for url: %s", raw)
	}
	if u.Hostname() == "" {
		return badParam("Invalid URL: %s", raw)
	}
	if err := c.checkSuffix(u, format); err != nil {
		return err
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n > 65535 {
			return badParam("Invalid URL: %s", raw)
		}
	}
	return c.checkHost(u.Hostname())
}

func (c *call) checkSuffix(u *url.URL, format string) error {
	p := strings.ToLower(u.Path)
	ending := strings.TrimPrefix(path.Ext(p), ".")
	if contains(c.compressions(), ending) {
		ending = strings.TrimPrefix(path.Ext(strings.TrimSuffix(p, "."+ending)), ".")
	}
	switch {
	case contains(suffixesOf(format), ending):
		return nil
	case contains(allSuffixes(), ending):
		return badParam("Please specify a valid URL. URL:%s is an invalid for the format %s", u.Path, strings.ToLower(format))
	}
	return badParam("Please specify a valid %s", strings.ToLower(format))
}

// checkHost refuses hosts that cannot be resolved or that are the server itself.
func (c *call) checkHost(host string) error {
	if _, ok := c.opts.Resolve[host]; ok || c.simulatedHost(host) {
		return nil
	}
	addrs, err := c.lookup(host)
	if err != nil || len(addrs) == 0 {
		return badParam("Unable to resolve %s.", host)
	}
	a := addrs[0].Unmap()
	switch {
	case a.IsUnspecified(), a.IsLoopback(), a.IsLinkLocalUnicast(), a.IsMulticast():
		return badParam("Illegal host specified in URL.")
	case a.Is6():
		return badParam("IPv6 addresses are not supported (%s).", javaIPv6(a))
	}
	return nil
}

// lookup resolves a name while other calls go on.
func (c *call) lookup(host string) (addrs []netip.Addr, err error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	c.outside(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		addrs, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	})
	return addrs, err
}

// outside runs what talks to the world, so that the server answers others meanwhile.
func (s *Server) outside(f func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	f()
}

// Time that the management server gives a source to answer its HEAD.
const (
	probeConnect = 2 * time.Second
	probeRead    = 5 * time.Second
)

// probe sends the one HEAD by which the management server learns how large an image is, in bytes; 0 when it does not learn it.
func (c *call) probe(raw string) (size int64) {
	if c.simulated() {
		return 0
	}
	c.outside(func() {
		ctx, cancel := context.WithTimeout(context.Background(), probeConnect+probeRead)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodHead, raw, nil)
		if err != nil {
			return
		}
		req.URL.User = nil
		resp, err := c.probing.Do(req)
		if err != nil {
			c.opts.Log.V(1).Info("the source did not answer a HEAD", "host", req.URL.Host)
			return
		}
		_ = resp.Body.Close() // a HEAD has no body
		if resp.StatusCode == http.StatusOK {
			size = max(resp.ContentLength, 0)
		}
	})
	return size
}

// newProbe makes the client of probe: redirects are not followed, names of Resolve are dialled where they say.
func newProbe(resolve map[string]string) *http.Client {
	dialer := &net.Dialer{Timeout: probeConnect}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, dialled(resolve, addr))
		},
		ResponseHeaderTimeout: probeRead,
		DisableKeepAlives:     true,
		DisableCompression:    true,
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// dialled replaces the host of an address by what it resolves to; a port given there counts.
func dialled(resolve map[string]string, addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	to, ok := resolve[host]
	if !ok {
		return addr
	}
	if _, _, err := net.SplitHostPort(to); err == nil {
		return to
	}
	return net.JoinHostPort(to, port)
}

// javaIPv6 prints an address without the short form for zeros.
func javaIPv6(a netip.Addr) string {
	b := a.As16()
	parts := make([]string, 8)
	for i := range parts {
		parts[i] = strconv.FormatUint(uint64(b[2*i])<<8|uint64(b[2*i+1]), 16)
	}
	return strings.Join(parts, ":")
}
