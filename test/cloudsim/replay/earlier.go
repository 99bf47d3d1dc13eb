package replay

import (
	"context"
	"fmt"
	"time"
)

// after is how long is waited after each call that was made before a transcript.
const after = 5 * time.Second

// Prepare does what had been done on the recording server before the first step of the transcript of that name, if it matters. It tells
// whether anything was done.
func (p *Player) Prepare(ctx context.Context, transcript string) (bool, error) {
	acts := earlier(transcript)
	for _, act := range acts {
		if err := act(ctx, p); err != nil {
			return false, fmt.Errorf("preparing %s: %w", transcript, err)
		}
	}
	return len(acts) > 0, nil
}

type act func(context.Context, *Player) error

func earlier(transcript string) []act {
	switch transcript {
	case "05-kubernetes-service", "06-account-states", "22-loadbalancer", "24-portforward-staticnat", "26-security-groups", "29-delete-races", "32-vm-lifecycle",
		"33-volumes", "34-tags", "36-ssh-keys", "38-limits", "40-guest-addresses":
		return []act{placeTemplate}
	case "07-server-states", "21-public-ips":
		return []act{placeTemplate, leaveTag}
	case "20-networks":
		return []act{offerBig}
	case "23-firewall-egress":
		return []act{placeTemplate, offerEgress}
	case "43-names-in-vpc":
		return []act{placeTemplate, knowHost}
	}
	return nil
}

// ask sends a call that must succeed, lets it take effect, and returns a value of its answer.
func (p *Player) ask(ctx context.Context, as, command, path string, params ...string) (string, error) {
	got := p.Call(ctx, as, command, params...)
	if got.Status != 200 {
		return "", fmt.Errorf("%s: %d %v", command, got.Status, got.Body)
	}
	return fmt.Sprint(Dig(got.Body, path)), p.operator.Advance(ctx, after)
}

// placeTemplate has a machine bring the template of the seed to primary storage.
func placeTemplate(ctx context.Context, p *Player) error {
	n, err := p.ask(ctx, "admin", "createNetwork", "createnetworkresponse.network.id", "name", "earlier", "zoneid", p.Seeded(ctx, "zone/zone-a"),
		"networkofferingid", p.Seeded(ctx, "networkoffering/DefaultIsolatedNetworkOfferingWithSourceNatService"))
	if err != nil {
		return err
	}
	m, err := p.ask(ctx, "admin", "deployVirtualMachine", "deployvirtualmachineresponse.id", "name", "earlier", "zoneid", p.Seeded(ctx, "zone/zone-a"), "networkids", n,
		"templateid", p.Seeded(ctx, "template/CentOS 5.6 (64-bit) no GUI (Simulator)"), "serviceofferingid", p.Seeded(ctx, "offering/Small Instance"))
	if err != nil {
		return err
	}
	if _, err := p.ask(ctx, "admin", "destroyVirtualMachine", "", "id", m, "expunge", "true"); err != nil {
		return err
	}
	if err := p.operator.Advance(ctx, after); err != nil {
		return err
	}
	_, err = p.ask(ctx, "admin", "deleteNetwork", "", "id", n)
	return err
}

// offerBig makes an offering that an account may use and no host can hold.
func offerBig(ctx context.Context, p *Player) error {
	id, err := p.ask(ctx, "admin", "createServiceOffering", "createserviceofferingresponse.serviceoffering.id", "name", "big", "displaytext", "big",
		"cpunumber", "1", "cpuspeed", "100", "memory", "30000")
	p.Bind("big", id)
	return err
}

// knowHost names a host that machines do not go to first.
func knowHost(ctx context.Context, p *Player) error {
	rows := Rows(p.Call(ctx, "admin", "listHosts", "zoneid", p.Seeded(ctx, "zone/zone-a"), "type", "Routing").Body)
	if len(rows) > 0 {
		p.Bind("otherhost", fmt.Sprint(rows[len(rows)-1]["id"]))
	}
	return nil
}

// leaveTag lets the tag of an address outlive the network that the address went with.
func leaveTag(ctx context.Context, p *Player) error {
	n, err := p.ask(ctx, "other", "createNetwork", "createnetworkresponse.network.id", "name", "earlier", "zoneid", p.Seeded(ctx, "zone/zone-a"),
		"networkofferingid", p.Seeded(ctx, "networkoffering/DefaultIsolatedNetworkOfferingWithSourceNatService"))
	if err != nil {
		return err
	}
	ip, err := p.ask(ctx, "other", "associateIpAddress", "associateipaddressresponse.id", "networkid", n, "ipaddress", "192.168.2.7")
	if err != nil {
		return err
	}
	_, err = p.ask(ctx, "other", "createTags", "", "resourcetype", "PublicIpAddress", "resourceids", ip, "tags[0].key", "owner", "tags[0].value", "i")
	if err != nil {
		return err
	}
	_, err = p.ask(ctx, "other", "deleteNetwork", "", "id", n)
	return err
}

// offerEgress makes the offering that lets everything out.
func offerEgress(ctx context.Context, p *Player) error {
	_, err := p.ask(ctx, "admin", "createNetworkOffering", "", "name", "allow-"+p.names["run"], "displaytext", "egress allowed by default", "guestiptype", "Isolated",
		"traffictype", "GUEST", "egressdefaultpolicy", "true", "enable", "true", "supportedservices", "Dhcp,Dns,UserData,SourceNat,StaticNat,Lb,Firewall,PortForwarding")
	return err
}
