package cluster

import (
	"context"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/step"
)

// settle shows the cluster to Cluster API: its failure domains, and that machines may come.
func (r *Reconciler) settle(ctx context.Context, s *scope) error {
	var domains []clusterv1.FailureDomain
	for _, d := range s.known() {
		if s.c.Status.Domain(d.Name).Network == nil {
			continue
		}
		takes := s.c.TakesControlPlane(&d)
		domains = append(domains, clusterv1.FailureDomain{Name: d.Name, ControlPlane: &takes})
	}
	if len(domains) > 0 {
		s.c.Status.FailureDomains = domains
	}
	yes := true
	s.c.Status.Initialization.Provisioned = &yes
	if err := r.look(ctx, s); err != nil {
		return err
	}
	if s.remark == "" {
		s.remark = s.routedText()
	}
	var err error
	if !s.holdsAddress() {
		err = s.endpointOfOthers()
	}
	switch {
	case s.setBack != nil:
		return s.setBack
	case err == nil && s.remark != "":
		return &step.Waiting{Reason: infrav1.ReasonReady, Message: "the API is at " + s.endpointText() + "; " + s.remark, After: s.again}
	}
	return err
}

// endpointOfOthers ends a reconcile of a cluster whose endpoint is not made here.
func (s *scope) endpointOfOthers() error {
	if s.c.Spec.ControlPlaneEndpoint.Host == "" && (s.cluster == nil || !s.cluster.Spec.ControlPlaneEndpoint.IsValid()) {
		return &step.Waiting{
			Reason:  infrav1.ReasonWaitingForEndpoint,
			Message: "there is no load balancer here: set spec.controlPlaneEndpoint, or let the control plane provider do it",
		}
	}
	s.reached = true
	return nil
}

// endpointText tells where the API is.
func (s *scope) endpointText() string {
	e := s.c.Spec.ControlPlaneEndpoint
	if e.Host == "" && s.cluster != nil {
		return s.cluster.Spec.ControlPlaneEndpoint.String()
	}
	return fmt.Sprintf("%s:%d", e.Host, e.Port)
}

// routedText tells what a person has to see to where networks route: no rule of their firewall is made here. It is empty where
// none does.
func (s *scope) routedText() string {
	var names []string
	for _, d := range s.known() {
		if n := s.c.Status.Domain(d.Name).Network; n != nil && n.Routed {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("networks that route: %s; rules of their IPv4 firewall are not made here: let the ports of the API in and all machines out there",
		strings.Join(names, ", "))
}
