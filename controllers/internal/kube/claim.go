package kube

import (
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Claim sets the finalizer and, once and for all, the identity that marks what is made for an object. It tells whether
// anything changed, which is to be saved before the first side effect.
func Claim(o client.Object, finalizer string) bool {
	changed := controllerutil.AddFinalizer(o, finalizer)
	annotations := o.GetAnnotations()
	if annotations[infrav1.AnnotationIdentity] != "" {
		return changed
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[infrav1.AnnotationIdentity] = string(uuid.NewUUID())
	o.SetAnnotations(annotations)
	return true
}
