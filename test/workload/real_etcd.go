package workload

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

const (
	etcdDial = 5 * time.Second
	// addAttempts is how often a member is added: etcd refuses while the one before is not healthy yet.
	addAttempts = 30
)

// etcdClient talks to the etcd of members.
func (r *realMember) etcdClient(ports ...int) (*clientv3.Client, error) {
	c, err := tls.LoadX509KeyPair(r.path(etcdPair+".crt"), r.path(etcdPair+".key"))
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of etcd: %w", err)
	}
	endpoints := make([]string, len(ports))
	for i, p := range ports {
		endpoints[i] = localURL(p)
	}
	cl, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: etcdDial, Logger: zap.NewNop(),
		TLS: &tls.Config{RootCAs: r.pki.etcd.pool(), Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12}})
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd: %w", err)
	}
	return cl, nil
}

// etcdReady succeeds when the member's etcd has a leader.
func (r *realMember) etcdReady(ctx context.Context) error {
	cl, err := r.etcdClient(r.clientAt)
	if err != nil {
		return err
	}
	defer func() { _ = cl.Close() }() // it was only asked
	ctx, cancel := context.WithTimeout(ctx, etcdDial)
	defer cancel()
	_, err = cl.Get(ctx, "health")
	return err
}

// addMember tells the etcd cluster of a new member, and the member of the cluster.
func (p *realPlane) addMember(ctx context.Context, r *realMember) error {
	working := p.working()
	if len(working) == 0 {
		r.initial, r.state = r.name+"="+localURL(r.peerAt), "new"
		return nil
	}
	cl, err := r.etcdClient(clientPorts(working)...)
	if err != nil {
		return err
	}
	defer func() { _ = cl.Close() }() // what it did is done
	var added *clientv3.MemberAddResponse
	for range addAttempts {
		if added, err = addOnce(ctx, cl, localURL(r.peerAt)); err == nil || !pause(ctx, retryEvery) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("adding an etcd member: %w", err)
	}
	var initial []string
	for _, m := range added.Members {
		name := m.Name
		if name == "" {
			name = r.name
		}
		for _, peer := range m.PeerURLs {
			initial = append(initial, name+"="+peer)
		}
	}
	r.initial, r.state = strings.Join(initial, ","), "existing"
	return nil
}

// addOnce adds a member, unless a call that seemed to fail has added it.
func addOnce(ctx context.Context, cl *clientv3.Client, peer string) (*clientv3.MemberAddResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, etcdDial)
	defer cancel()
	list, err := cl.MemberList(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range list.Members {
		if strings.Join(m.PeerURLs, ",") == peer {
			return &clientv3.MemberAddResponse{Members: list.Members}, nil
		}
	}
	return cl.MemberAdd(ctx, []string{peer})
}

// removeMember takes back what addMember told the cluster.
func (p *realPlane) removeMember(ctx context.Context, name string) error {
	working := p.working()
	if len(working) == 0 {
		return nil
	}
	cl, err := working[0].etcdClient(clientPorts(working)...)
	if err != nil {
		return err
	}
	defer func() { _ = cl.Close() }() // what it did is done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), etcdDial)
	defer cancel()
	list, err := cl.MemberList(ctx)
	if err != nil {
		return fmt.Errorf("listing etcd members: %w", err)
	}
	for _, m := range list.Members {
		if m.Name == name || m.Name == "" {
			if _, err := cl.MemberRemove(ctx, m.ID); err != nil {
				return fmt.Errorf("removing an etcd member: %w", err)
			}
		}
	}
	return nil
}

func clientPorts(members []*realMember) []int {
	out := make([]int, len(members))
	for i, r := range members {
		out[i] = r.clientAt
	}
	return out
}
