package image

import "github.com/capcat/capcat/controllers/internal/kube"

// Waker gives tests the source of wake-ups.
func (r *Reconciler) Waker() *kube.Waker { return r.waker }

// Stop ends the tasks of a reconciler as the end of its process would.
func (r *Reconciler) Stop() {
	r.imports.Stop()
	r.uploads.Stop()
}
