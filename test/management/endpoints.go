package management

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deploymentLabel names the Deployment whose process an EndpointSlice leads to.
const deploymentLabel = "management.capcat.example.org/deployment"

// publish lets the Services that select the pod lead to its process.
func (k *kubelet) publish(ctx context.Context, d *appsv1.Deployment, p *pod, ready bool) error {
	var services corev1.ServiceList
	if err := k.client.List(ctx, &services, client.InNamespace(d.Namespace)); err != nil {
		return fmt.Errorf("listing services: %w", err)
	}
	for i := range services.Items {
		s := &services.Items[i]
		if len(s.Spec.Selector) == 0 || !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels)) {
			continue
		}
		if err := k.lead(ctx, k.slice(s, d.Name, p, ready)); err != nil {
			return fmt.Errorf("leading service %s to its process: %w", s.Name, err)
		}
	}
	return nil
}

func (k *kubelet) slice(s *corev1.Service, deployment string, p *pod, ready bool) *discoveryv1.EndpointSlice {
	yes := true
	e := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: s.Name + "-process",
			Labels:          map[string]string{discoveryv1.LabelServiceName: s.Name, deploymentLabel: deployment},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: s.Name, UID: s.UID, Controller: &yes}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{k.pods.address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
	for _, port := range s.Spec.Ports {
		here := p.ports[p.number(port.TargetPort)]
		if here == 0 {
			continue
		}
		e.Ports = append(e.Ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &here, Protocol: &port.Protocol})
	}
	return e
}

// number is the port of the container that is meant.
func (p *pod) number(port intstr.IntOrString) int32 {
	if port.Type == intstr.String {
		return p.named[port.StrVal]
	}
	return port.IntVal
}

// lead creates the slice, or makes it what it should be. A slice of an earlier Service of the name is replaced.
func (k *kubelet) lead(ctx context.Context, want *discoveryv1.EndpointSlice) error {
	var have discoveryv1.EndpointSlice
	err := k.client.Get(ctx, client.ObjectKeyFromObject(want), &have)
	if apierrors.IsNotFound(err) {
		return k.client.Create(ctx, want)
	}
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(have.Endpoints, want.Endpoints) && equality.Semantic.DeepEqual(have.Ports, want.Ports) &&
		equality.Semantic.DeepEqual(have.OwnerReferences, want.OwnerReferences) {
		return nil
	}
	have.Endpoints, have.Ports, have.OwnerReferences, have.Labels = want.Endpoints, want.Ports, want.OwnerReferences, want.Labels
	return k.client.Update(ctx, &have)
}

// withdraw removes what leads to a process that is gone.
func (k *kubelet) withdraw(ctx context.Context, deployment client.ObjectKey) error {
	err := k.client.DeleteAllOf(ctx, &discoveryv1.EndpointSlice{}, client.InNamespace(deployment.Namespace),
		client.MatchingLabels{deploymentLabel: deployment.Name})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("withdrawing the addresses of %s: %w", deployment, err)
	}
	return nil
}
