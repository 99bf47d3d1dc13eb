package cluster

import "github.com/capcat/capcat/controllers/internal/kube"

// Waker gives tests the source of wake-ups.
func (r *Reconciler) Waker() *kube.Waker { return r.waker }
