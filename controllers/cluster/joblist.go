package cluster

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// unanswered begins the id of a job whose real id is not known because the call that begins it got no answer yet.
const unanswered = "unanswered"

// unansweredIn is that id in a failure domain: no two jobs have one.
func unansweredIn(domain string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(domain)) // it never fails
	return fmt.Sprintf("%s-%016x", unanswered, sum.Sum64())
}

func isUnanswered(j infrav1.JobReference) bool { return strings.HasPrefix(j.ID, unanswered) }

// begin records a job.
func (s *scope) begin(kind infrav1.JobKind, id, domain, resource string) {
	s.keep(infrav1.JobReference{
		ID: id, Kind: kind, Since: metav1.NewTime(s.now.Truncate(time.Second)), FailureDomain: domain, ResourceID: resource,
	})
}

// keep records a job in the place of any other of its failure domain.
func (s *scope) keep(j infrav1.JobReference) {
	s.end(j.FailureDomain)
	s.c.Status.Jobs = append(s.c.Status.Jobs, j)
}

// end forgets the job of a failure domain.
func (s *scope) end(domain string) {
	s.c.Status.Jobs = slices.DeleteFunc(s.c.Status.Jobs, func(j infrav1.JobReference) bool { return j.FailureDomain == domain })
	if len(s.c.Status.Jobs) == 0 {
		s.c.Status.Jobs = nil
	}
}

// job is what is under way in a failure domain; nil when nothing is.
func (s *scope) job(domain string) *infrav1.JobReference {
	for i := range s.c.Status.Jobs {
		if s.c.Status.Jobs[i].FailureDomain == domain {
			return &s.c.Status.Jobs[i]
		}
	}
	return nil
}

// intent tells whether something of that kind was to be made in a failure domain and nobody knows whether it was.
func (s *scope) intent(kind infrav1.JobKind, domain string) bool {
	j := s.job(domain)
	return j != nil && isUnanswered(*j) && j.Kind == kind
}
