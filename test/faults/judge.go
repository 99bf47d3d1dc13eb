package faults

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

// Concerns tells whether some calls were struck by a fault, or are of the command that it strikes, whose job may fail by it.
func Concerns(f cloudsim.Fault, made []cloudsim.Entry) bool {
	return struck(made) || slices.ContainsFunc(made, func(e cloudsim.Entry) bool { return e.Command == f.Command })
}

func struck(made []cloudsim.Entry) bool {
	return slices.ContainsFunc(made, func(e cloudsim.Entry) bool { return strings.HasPrefix(e.Text, "fault ") })
}

// Underway are the reasons for not being ready yet that images, clusters and machines give while all goes well. They are named
// here and not taken from what a life happened to show: how far work in the background is when somebody looks is up to chance.
func Underway() []string {
	return []string{
		infrav1.ReasonResolving, infrav1.ReasonDeleting,
		infrav1.ReasonQueued, infrav1.ReasonFetching, infrav1.ReasonVerifying, infrav1.ReasonRegistering, infrav1.ReasonDownloading,
		infrav1.ReasonUploading, infrav1.ReasonInstalling,
		infrav1.ReasonCreating, infrav1.ReasonWaitingForJob, infrav1.ReasonWaitingForMachines, infrav1.ReasonWaitingForExpunge,
		infrav1.ReasonDeploying, infrav1.ReasonAttaching, infrav1.ReasonDetaching, infrav1.ReasonDestroying,
	}
}

// Judge looks at the condition Ready of an object after a reconcile that made some calls, while a fault is about: what it gives as
// its reason for not being ready must be right. It tells whether the reason is that of the fault, and what is wrong; nothing is
// with a reason of work underway, unless a call was struck.
func Judge(f cloudsim.Fault, made []cloudsim.Entry, ready *metav1.Condition) (right bool, wrong string) {
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return false, ""
	}
	reasons := Reasons(f)
	switch {
	case slices.Contains(reasons, ready.Reason):
		return true, ""
	case struck(made) && !sentAgain(f) && !doneWithout(f):
		return false, fmt.Sprintf("is not ready because of %s (%s) after %s at %s, want one of %v", ready.Reason, ready.Message, f.Kind, f.Command, reasons)
	case !slices.Contains(Underway(), ready.Reason):
		return false, fmt.Sprintf("is not ready because of %s (%s) after %s at %s, which struck none of its calls", ready.Reason, ready.Message, f.Kind, f.Command)
	}
	return false, ""
}

// doneWithout tells whether a manager does without the answer: one that may not ask what it may do tries it, or takes it
// that it may not, one that may not take off tags leaves them, and whoever waits for a job does so when it could not be asked for once.
func doneWithout(f cloudsim.Fault) bool {
	switch f.Command {
	case "queryAsyncJobResult", "listAsyncJobs":
		return true
	case "listCapabilities", "listApis", "deleteTags":
		return f.Kind == cloudsim.Fault432
	}
	return false
}

// sentAgain tells whether the HTTP client may make a call again by itself: one that only looks, when a connection that was open
// already turns out to be dead.
func sentAgain(f cloudsim.Fault) bool {
	return f.Kind == cloudsim.FaultReset && f.Phase == cloudsim.PhaseBefore && Reads(f.Command)
}
