package machine

import (
	"errors"
	"fmt"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/ending"
	"github.com/capcat/capcat/controllers/internal/step"
	"github.com/capcat/capcat/imagecatalog"
)

// statePoll is the pause between two looks at VMs that are on their way to another state by no job of ours.
const statePoll = 15 * time.Second

// reasons are those of failed calls about machines.
func reasons() ending.Reasons {
	return ending.Reasons{cloudstack.Capacity: infrav1.ReasonOutOfCapacity}
}

// refusals are the reasons of failed deployments.
func refusals() ending.Reasons {
	return ending.Reasons{
		cloudstack.Capacity: infrav1.ReasonOutOfCapacity,
		cloudstack.Invalid:  infrav1.ReasonDeployRefused, cloudstack.NotFound: infrav1.ReasonDeployRefused,
		cloudstack.Ambiguous: infrav1.ReasonDeployRefused, cloudstack.Conflict: infrav1.ReasonDeployRefused,
		cloudstack.InUse: infrav1.ReasonDeployRefused, cloudstack.Busy: infrav1.ReasonDeployRefused,
	}
}

func apiFailure(doing string, err error) error { return reasons().Failure(doing, err) }

// searchFailure is apiFailure with a reason for things that are not there, or there several times.
func searchFailure(reason, doing string, err error) error {
	return reasons().Search(reason, reason, doing, err)
}

// sizeFailure turns a refusal of the rules for offerings into an outcome.
func sizeFailure(err error) error {
	var e *imagecatalog.SizeError
	if errors.As(err, &e) {
		return &step.Failed{Reason: e.Reason, Message: e.Message, After: ending.Slow, Err: err}
	}
	return fmt.Errorf("choosing the offering: %w", err)
}
