package secondarystorage

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/httpclient"
)

// mapped returns the address that is dialled for a host that counts as public.
func (n Network) mapped(host string, port int) (string, bool) {
	for _, key := range []string{net.JoinHostPort(host, strconv.Itoa(port)), host, strings.ToLower(host)} {
		address, ok := n.Hosts[key]
		if !ok {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err == nil {
			return address, true
		}
		return net.JoinHostPort(address, strconv.Itoa(port)), true
	}
	return "", false
}

func (n Network) lookup(ctx context.Context, host string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap(), nil
	}
	if addr, ok := oldAddress(host); ok {
		return addr, nil
	}
	if strings.EqualFold(host, "localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	lookup := n.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err := lookup(ctx, host)
	if err != nil || len(addrs) == 0 {
		return netip.Addr{}, fmt.Errorf("unknown host %s", host)
	}
	// Java prefers IPv4.
	i := max(0, slices.IndexFunc(addrs, func(a netip.Addr) bool { return a.Unmap().Is4() }))
	return addrs[i].Unmap(), nil
}

// oldAddress reads the spellings of inet_aton: fewer than four parts, octal and hexadecimal ones.
func oldAddress(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	value := uint64(0)
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 0, 32)
		if err != nil {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			value |= n << (24 - 8*i)
		} else {
			value |= n
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), value <= 0xffffffff
}

// checkHost is what is looked at before a download begins. The error is the text that is shown.
func (n Network) checkHost(ctx context.Context, l httpclient.Location) error {
	if _, ok := n.mapped(l.Host, portOf(l)); ok {
		return nil
	}
	addr, err := n.lookup(ctx, l.Host)
	switch {
	case err != nil:
		return failure(fmt.Sprintf("Unable to resolve %s.", l.Host))
	case addr.IsUnspecified(), addr.IsLinkLocalUnicast(), addr.IsLoopback(), addr.IsMulticast():
		return failure("Illegal host specified in URL.")
	case addr.Is6():
		return failure(fmt.Sprintf("IPv6 addresses are not supported (%s).", javaAddress(addr)))
	}
	return nil
}

// javaAddress writes an IPv6 address in full, without leading zeros.
func javaAddress(a netip.Addr) string {
	b := a.As16()
	groups := make([]string, 0, 8)
	for i := 0; i < len(b); i += 2 {
		groups = append(groups, strconv.FormatUint(uint64(b[i])<<8|uint64(b[i+1]), 16))
	}
	return strings.Join(groups, ":")
}

func portOf(l httpclient.Location) int {
	switch {
	case l.Port != 0:
		return l.Port
	case l.Scheme == "https":
		return 443
	}
	return 80
}

// connectTime is how long the system knocks at an address that never answers.
const connectTime = 127 * time.Second

// dialer connects as the storage VM's routes and packet filter allow.
func (e *Engine) dialer(allowed []netip.Prefix) func(ctx context.Context, host string, port int) (net.Conn, error) {
	n := e.network
	return func(ctx context.Context, host string, port int) (net.Conn, error) {
		if address, ok := n.mapped(host, port); ok {
			return n.dial(ctx, address)
		}
		if host == "" {
			return nil, &httpclient.Error{Text: "Connection refused"}
		}
		addr, err := n.lookup(ctx, host)
		if err != nil {
			return nil, &httpclient.Error{Text: host, Err: err}
		}
		if !contains(allowed, addr) && n.Private.IsValid() {
			switch {
			case n.Private.Contains(addr):
				if !n.OpenPrivate && (port == 80 || port == 443) {
					return nil, &httpclient.Error{Text: "Connection refused"}
				}
			case addr.IsPrivate():
				return nil, e.knock(ctx)
			}
		}
		return n.dial(ctx, netip.AddrPortFrom(addr, uint16(port)).String())
	}
}

// knock waits for an answer that never comes.
func (e *Engine) knock(ctx context.Context) error {
	t := e.clock.NewTimer(connectTime)
	defer t.Stop()
	select {
	case <-t.C():
		return syscall.ETIMEDOUT
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n Network) dial(ctx context.Context, address string) (net.Conn, error) {
	if n.Dial != nil {
		return n.Dial(ctx, address)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// internalSites reads the setting: addresses and networks of IPv4. What cannot be read is dropped, as are networks that begin
// with 0.
func internalSites(entries []string) []netip.Prefix {
	var sites []netip.Prefix
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		if addr, err := netip.ParseAddr(entry); err == nil && addr.Is4() && !addr.IsUnspecified() {
			sites = append(sites, netip.PrefixFrom(addr, 32))
		}
		if p, err := netip.ParsePrefix(entry); err == nil && p.Addr().Is4() && !p.Addr().IsUnspecified() {
			sites = append(sites, p)
		}
	}
	return sites
}

func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}
