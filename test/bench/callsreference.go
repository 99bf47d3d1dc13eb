package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/apache/cloudstack-go/v2/cloudstack"
	"golang.org/x/sync/errgroup"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// listEvery is the pause of the plain client between two looks.
const listEvery = time.Second

// reference is what it took the plain client.
type reference struct {
	deploy, destroy bill
	parts           parts // of the deployment
}

// plain is a client that only deploys and lists, to compare with: no checks, no marks, nothing that is remembered.
type plain struct {
	cs                         *cloudstack.CloudStackClient
	zone, offering, network    string
	template, name             string
	machines, deploysAtOneTime int
}

// compare deploys and destroys as many machines as the crew has with a plain client, in the same cloud.
func (s *site) compare(ctx context.Context) (reference, error) {
	keys := s.cloud.Keys[caller]
	images, err := s.images(ctx)
	if err != nil {
		return reference{}, err
	}
	p := &plain{
		cs:       cloudstack.NewClient(s.cloud.URL, keys[0], keys[1], true, cloudstack.WithHTTPClient(&http.Client{Timeout: time.Minute})),
		template: images[0].Status.TemplateID, name: "plain", machines: s.size(), deploysAtOneTime: managerWorkers,
	}
	if err := p.prepare(images[0]); err != nil {
		return reference{}, fmt.Errorf("the plain client: %w", err)
	}
	deploy, calls, err := s.measure(ctx, p.deploy)
	if err != nil {
		return reference{}, fmt.Errorf("the plain client: %w", err)
	}
	destroy, _, err := s.measure(ctx, p.destroy)
	if err != nil {
		return reference{}, fmt.Errorf("the plain client: %w", err)
	}
	return reference{deploy: deploy, destroy: destroy, parts: partsOf(deploy, calls)}, nil
}

// prepare finds or makes what the machines need.
func (p *plain) prepare(img infrav1.CloudStackImage) error {
	p.zone = img.Status.ZoneID
	offerings, err := p.cs.ServiceOffering.ListServiceOfferings(p.cs.ServiceOffering.NewListServiceOfferingsParams())
	if err != nil {
		return err
	}
	if len(offerings.ServiceOfferings) == 0 {
		return errors.New("there is no service offering")
	}
	p.offering = offerings.ServiceOfferings[0].Id
	ask := p.cs.NetworkOffering.NewListNetworkOfferingsParams()
	ask.SetName("DefaultIsolatedNetworkOfferingWithSourceNatService")
	found, err := p.cs.NetworkOffering.ListNetworkOfferings(ask)
	if err != nil {
		return err
	}
	if len(found.NetworkOfferings) == 0 {
		return errors.New("there is no network offering")
	}
	params := p.cs.Network.NewCreateNetworkParams(p.name, found.NetworkOfferings[0].Id, p.zone)
	params.SetGateway("10.16.0.1")
	params.SetNetmask("255.255.252.0")
	network, err := p.cs.Network.CreateNetwork(params)
	if err != nil {
		return err
	}
	p.network = network.Id
	return nil
}

// deploy makes all machines and ends when they are seen to run.
func (p *plain) deploy(ctx context.Context) error {
	var deploying errgroup.Group
	deploying.SetLimit(p.deploysAtOneTime)
	for i := range p.machines {
		deploying.Go(func() error {
			params := p.cs.VirtualMachine.NewDeployVirtualMachineParams(p.offering, p.template, p.zone)
			params.SetName(fmt.Sprintf("%s-%d", p.name, i))
			params.SetNetworkids([]string{p.network})
			_, err := p.cs.VirtualMachine.DeployVirtualMachine(params)
			return err
		})
	}
	if err := deploying.Wait(); err != nil {
		return err
	}
	return p.until(ctx, func(all []*cloudstack.VirtualMachine) bool {
		for _, v := range all {
			if v.State != "Running" {
				return false
			}
		}
		return len(all) == p.machines
	})
}

// destroy destroys all machines and ends when none is listed.
func (p *plain) destroy(ctx context.Context) error {
	all, err := p.list()
	if err != nil {
		return err
	}
	var destroying errgroup.Group
	destroying.SetLimit(p.deploysAtOneTime)
	for _, v := range all {
		destroying.Go(func() error {
			params := p.cs.VirtualMachine.NewDestroyVirtualMachineParams(v.Id)
			params.SetExpunge(true)
			_, err := p.cs.VirtualMachine.DestroyVirtualMachine(params)
			return err
		})
	}
	if err := destroying.Wait(); err != nil {
		return err
	}
	return p.until(ctx, func(all []*cloudstack.VirtualMachine) bool { return len(all) == 0 })
}

func (p *plain) until(ctx context.Context, done func([]*cloudstack.VirtualMachine) bool) error {
	for {
		all, err := p.list()
		if err != nil || done(all) {
			return err
		}
		if err := pause(ctx, listEvery); err != nil {
			return err
		}
	}
}

func (p *plain) list() ([]*cloudstack.VirtualMachine, error) {
	var all []*cloudstack.VirtualMachine
	for number := 1; ; number++ {
		params := p.cs.VirtualMachine.NewListVirtualMachinesParams()
		params.SetPagesize(page)
		params.SetPage(number)
		got, err := p.cs.VirtualMachine.ListVirtualMachines(params)
		if err != nil {
			return nil, err
		}
		all = append(all, got.VirtualMachines...)
		if len(got.VirtualMachines) < page {
			return all, nil
		}
	}
}
