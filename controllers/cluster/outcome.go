package cluster

import (
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
)

// again is the pause before what CloudStack failed to do is tried again.
const again = 20 * time.Second

// reasons are those of failed calls about clusters.
func reasons() ending.Reasons {
	return ending.Reasons{
		cloudstack.Capacity: infrav1.ReasonOutOfCapacity, cloudstack.Conflict: infrav1.ReasonPortTaken,
		cloudstack.InUse: infrav1.ReasonInUse, cloudstack.Busy: infrav1.ReasonWaitingForJob,
	}
}

func apiFailure(doing string, err error) error { return reasons().Failure(doing, err) }
