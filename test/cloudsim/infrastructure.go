package cloudsim

import "time"

// managementServer is the node that answers.
type managementServer struct {
	base
	name    string
	started time.Time
}
