package imagecatalog

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// Life says when an image may be chosen.
type Life struct {
	// Stage of the image; empty means Supported.
	Stage infrav1.Stage
	// Expires is when the image expires; zero means never.
	Expires time.Time
}

// LifeOf reads the API's fields.
func LifeOf(stage infrav1.Stage, expires *metav1.Time) Life {
	life := Life{Stage: stage}
	if life.Stage == "" {
		life.Stage = infrav1.StageSupported
	}
	if expires != nil {
		life.Expires = expires.Time
	}
	return life
}

// Expired says whether the expiration date has come.
func (l Life) Expired(now time.Time) bool { return !l.Expires.IsZero() && !now.Before(l.Expires) }

// rank orders the stages by how much they are wanted.
func (l Life) rank() int {
	switch l.Stage {
	case infrav1.StageDeprecated:
		return 1
	case infrav1.StagePreview:
		return 2
	}
	return 0
}
