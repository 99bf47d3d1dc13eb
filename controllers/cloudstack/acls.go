package cloudstack

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// ACLAllowAll is the ACL list, known to every VPC, that lets everything in and out. Nobody can change or remove it.
const ACLAllowAll = "default_allow"

// aclAge is how old an answer about ACL lists may be.
const aclAge = capabilityAge

// FindACL gives the id of the ACL list of exactly that name that every VPC knows. The answer may be ten minutes old.
func (s *Session) FindACL(ctx context.Context, name string) (id string, err error) {
	if err := need("listNetworkACLLists", name); err != nil {
		return "", err
	}
	return recall(ctx, s.memo, "listNetworkACLLists/"+name, aclAge, func(ctx context.Context) (string, error) {
		rows, err := readRows(ctx, s, "listNetworkACLLists", func(l *sdk.NetworkACLList) string { return l.Id },
			func(c *sdk.CloudStackClient, number, size int) ([]*sdk.NetworkACLList, int, error) {
				p := c.NetworkACL.NewListNetworkACLListsParams()
				p.SetPage(number)
				p.SetPagesize(size)
				p.SetName(name)
				got, err := c.NetworkACL.ListNetworkACLLists(p)
				if err != nil {
					return nil, 0, err
				}
				return got.NetworkACLLists, got.Count, nil
			})
		if err != nil {
			return "", err
		}
		at := slices.IndexFunc(rows, func(l *sdk.NetworkACLList) bool { return l.Name == name && l.Vpcid == "" })
		if at < 0 {
			return "", newError(NotFound, "listNetworkACLLists", "no ACL list of all VPCs is named %s", name)
		}
		return rows[at].Id, nil
	})
}

// ACLRule is one rule of an ACL list. Of several that fit the one with the lowest number counts.
type ACLRule struct {
	Number  int
	Ingress bool
	Allow   bool
	// Protocol is tcp, udp, icmp, all, or a number.
	Protocol string
	// StartPort and EndPort are 0 when the rule is for all ports.
	StartPort, EndPort int32
	CIDRs              []string
}

// ACLRules lists the rules of an ACL list, the one that counts first first.
func (s *Session) ACLRules(ctx context.Context, owner Owner, aclID string) ([]ACLRule, error) {
	if err := need("listNetworkACLs", aclID); err != nil {
		return nil, err
	}
	rows, err := readRows(ctx, s, "listNetworkACLs", func(a *sdk.NetworkACL) string { return a.Id },
		func(c *sdk.CloudStackClient, number, size int) ([]*sdk.NetworkACL, int, error) {
			p := c.NetworkACL.NewListNetworkACLsParams()
			owner.scope(p, number, size, aclID)
			p.SetAclid(aclID)
			got, err := c.NetworkACL.ListNetworkACLs(p)
			if err != nil {
				return nil, 0, err
			}
			return got.NetworkACLs, got.Count, nil
		})
	if err != nil {
		return nil, err
	}
	var out []ACLRule
	for _, row := range rows {
		if !equalID(row.Aclid, aclID) {
			continue
		}
		out = append(out, ACLRule{
			Number: row.Number, Ingress: strings.EqualFold(row.Traffictype, "Ingress"), Allow: strings.EqualFold(row.Action, "Allow"),
			Protocol: strings.ToLower(row.Protocol), StartPort: port(row.Startport), EndPort: port(row.Endport), CIDRs: splitList(row.Cidrlist),
		})
	}
	slices.SortStableFunc(out, func(a, b ACLRule) int { return a.Number - b.Number })
	return out, nil
}

// ACLAdmits tells whether rules let a TCP port be reached from all addresses of a range. What no rule speaks of is refused.
func ACLAdmits(rules []ACLRule, port int32, from netip.Prefix) bool {
	for _, r := range rules {
		if !r.Ingress || !r.speaksOf(port) {
			continue
		}
		whole, part := covers(r.CIDRs, from)
		switch {
		case whole:
			return r.Allow
		case part && !r.Allow:
			return false
		}
	}
	return false
}

// ACLReleases tells whether rules let everything out.
func ACLReleases(rules []ACLRule) bool {
	everywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	for _, r := range rules {
		if r.Ingress {
			continue
		}
		if !r.Allow {
			return false
		}
		if whole, _ := covers(r.CIDRs, everywhere); whole && r.Protocol == "all" {
			return true
		}
	}
	return false
}

func (r ACLRule) speaksOf(port int32) bool {
	if r.Protocol != "all" && r.Protocol != "tcp" && r.Protocol != strconv.Itoa(6) {
		return false
	}
	return r.StartPort == 0 && r.EndPort == 0 || r.StartPort <= port && port <= max(r.EndPort, r.StartPort)
}

// covers tells whether ranges hold the whole of another, or a part of it. No ranges hold everything.
func covers(cidrs []string, of netip.Prefix) (whole, part bool) {
	if len(cidrs) == 0 {
		return true, true
	}
	for _, text := range cidrs {
		p, err := netip.ParsePrefix(text)
		if err != nil || !p.Overlaps(of) {
			continue
		}
		part = true
		whole = whole || p.Bits() <= of.Bits()
	}
	return whole, part
}
