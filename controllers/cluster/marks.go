package cluster

import (
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

// marks are what tells of a network or a VPC whose it is.
type marks struct {
	id, text string
	tags     map[string]string
}

func marksOfNetwork(n cloudstack.Network) marks { return marks{n.ID, n.DisplayText, n.Tags} }

func marksOfVPC(v cloudstack.VPC) marks { return marks{v.ID, v.DisplayText, v.Tags} }

// ours tells whether something was made for this cluster.
func (s *scope) ours(m marks) bool { return s.oursByTag(m.tags) || s.oursByText(m.text) }

// nobodys tells whether something was made for no cluster.
func (m marks) nobodys() bool {
	return m.tags[infrav1.MarkOwner] == "" && !strings.HasPrefix(m.text, infrav1.MarkOwner+"=")
}

// sift separates what was made for this cluster from what was made for none. What was made for other clusters is neither: it
// goes away with them.
func sift[T any](s *scope, all []T, of func(T) marks) (mine, free []T) {
	for _, one := range all {
		switch m := of(one); {
		case s.ours(m):
			mine = append(mine, one)
		case m.nobodys():
			free = append(free, one)
		}
	}
	return mine, free
}

// idsOf lists a few for a message.
func idsOf[T any](all []T, of func(T) marks) string {
	var ids []string
	for _, one := range all[:min(len(all), 10)] {
		ids = append(ids, of(one).id)
	}
	return strings.Join(ids, ", ")
}
