package kube

import (
	"strings"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxNote is what an event takes.
const maxNote = 1000

// Event records an event about an object. A note that is too long is cut.
func Event(recorder events.EventRecorder, about client.Object, kind, reason, action, note string) {
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote], "") + "..."
	}
	recorder.Eventf(about, nil, kind, reason, action, "%s", note)
}
