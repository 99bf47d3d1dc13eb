package machine

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

const (
	pauseFirst   = 15 * time.Second
	pauseLongest = 10 * time.Minute
	// refusalMemory is how long a failure domain that had no room is left alone while others may have some.
	refusalMemory = 10 * time.Minute
)

// pauseAfter is how long a machine rests after so many deployments.
func pauseAfter(attempts int32) time.Duration {
	pause := pauseFirst
	for range min(max(attempts-1, 0), 10) {
		pause *= 2
	}
	return min(pause, pauseLongest)
}

// refused records that a failure domain did not take the machine.
func refused(all []infrav1.FailureDomainRefusal, domain, reason string, now time.Time) []infrav1.FailureDomainRefusal {
	at := metav1.NewTime(now.Truncate(time.Second))
	out := slices.DeleteFunc(slices.Clone(all), func(r infrav1.FailureDomainRefusal) bool { return r.FailureDomain == domain })
	out = append(out, infrav1.FailureDomainRefusal{FailureDomain: domain, Reason: reason, At: &at})
	slices.SortFunc(out, func(a, b infrav1.FailureDomainRefusal) int { return strings.Compare(a.FailureDomain, b.FailureDomain) })
	return out
}

// refusalOf is the last refusal of a failure domain; nil when there is none.
func refusalOf(all []infrav1.FailureDomainRefusal, domain string) *infrav1.FailureDomainRefusal {
	for i := range all {
		if all[i].FailureDomain == domain && all[i].At != nil {
			return &all[i]
		}
	}
	return nil
}

// open leaves out the failure domains that had no room lately. When that leaves none, the one that was asked longest ago
// is left.
func open(domains []string, all []infrav1.FailureDomainRefusal, now time.Time) []string {
	var free []string
	oldest := ""
	for _, d := range domains {
		r := refusalOf(all, d)
		if r == nil || now.Sub(r.At.Time) >= refusalMemory || !isPlaceReason(r.Reason) {
			free = append(free, d)
			continue
		}
		if oldest == "" || r.At.Time.Before(refusalOf(all, oldest).At.Time) {
			oldest = d
		}
	}
	if len(free) == 0 && oldest != "" {
		return []string{oldest}
	}
	return free
}

// isPlaceReason tells whether another failure domain may do what this one refused.
func isPlaceReason(reason string) bool {
	switch reason {
	case infrav1.ReasonOutOfCapacity, infrav1.ReasonQuotaExceeded, infrav1.ReasonZoneDisabled, infrav1.ReasonDeployFailed:
		return true
	}
	return false
}

// lastTry is when a deployment was refused last, zero when none was.
func lastTry(all []infrav1.FailureDomainRefusal) time.Time {
	var last time.Time
	for i := range all {
		if at := all[i].At; at != nil && at.Time.After(last) {
			last = at.Time
		}
	}
	return last
}
