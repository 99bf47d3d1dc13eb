package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// The guard keeps the author of a catalog from reaching what only this machine can reach. It looks at the address that
// is really dialled, after DNS, for the first request and for every redirect. Behind a proxy the dialled address is the
// proxy's, which the operator chose; there the guard looks at literal addresses, and at what the name resolves to here,
// if it does.

// guard decides which addresses may be dialled.
type guard struct{ allowLoopback bool }

// control is a net.Dialer.ControlContext: it runs after DNS and before connect.
func (g guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return artifact.NewError(artifact.SourceBlocked, "the address to dial is no IP address")
	}
	return g.check(ap.Addr())
}

// check refuses an address by what it is, whatever notation it hides in.
func (g guard) check(a netip.Addr) error {
	for _, a := range inner(a) {
		why := g.refusal(a)
		if why != "" {
			return artifact.NewError(artifact.SourceBlocked, fmt.Sprintf("the address %s is %s", a, why))
		}
	}
	return nil
}

// refusal says what is wrong with a plain address, "" when nothing is.
func (g guard) refusal(a netip.Addr) string {
	switch {
	case isMetadata(a):
		return "a metadata service of a cloud"
	case a.IsUnspecified(), a.Is4() && a.As4()[0] == 0:
		return "unspecified"
	case a.IsLoopback():
		if g.allowLoopback {
			return ""
		}
		return "of this machine itself"
	case a.IsLinkLocalUnicast():
		return "link-local"
	case a.IsMulticast(), a.Is4() && a.As4() == [4]byte{255, 255, 255, 255}:
		return "multicast or broadcast"
	default:
		return ""
	}
}

// isMetadata knows the well-known addresses where clouds hand out credentials.
func isMetadata(a netip.Addr) bool {
	switch a.String() {
	case "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254":
		return true
	default:
		return false
	}
}

// inner gives the address without zone, and the IPv4 address inside an IPv6 one: mapped, compatible, NAT64, 6to4, Teredo.
func inner(a netip.Addr) []netip.Addr {
	a = a.WithZone("").Unmap()
	if a.Is4() {
		return []netip.Addr{a}
	}
	b := a.As16()
	v4 := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case within(a, "64:ff9b::/96"):
		return []netip.Addr{a, v4(12)}
	case within(a, "64:ff9b:1::/48"):
		return []netip.Addr{a, v4(12), netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]})}
	case within(a, "2002::/16"):
		return []netip.Addr{a, v4(2)}
	case within(a, "2001::/32"):
		return []netip.Addr{a, v4(4), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	case within(a, "::/96") && !a.IsLoopback() && !a.IsUnspecified():
		return []netip.Addr{a, v4(12)}
	default:
		return []netip.Addr{a}
	}
}

func within(a netip.Addr, prefix string) bool {
	p, err := netip.ParsePrefix(prefix)
	return err == nil && p.Contains(a)
}

// checkProxied looks at a host that a proxy will resolve.
func (g guard) checkProxied(ctx context.Context, host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		return g.check(a)
	}
	if name := strings.TrimSuffix(strings.ToLower(host), "."); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return g.check(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		return nil // behind a proxy, names need not resolve here
	}
	for _, a := range addrs {
		if err := g.check(a); err != nil {
			return err
		}
	}
	return nil
}
