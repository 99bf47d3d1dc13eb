package cloudstack

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// Job is the id of work that CloudStack does in the background; empty means none.
type Job string

// JobState is how far a job is.
type JobState string

// The states of a job.
const (
	// JobRunning: not ended, or not known to have ended.
	JobRunning JobState = "Running"
	// JobSucceeded: ended well.
	JobSucceeded JobState = "Succeeded"
	// JobFailed: ended badly; Outcome.Err tells why.
	JobFailed JobState = "Failed"
	// JobGone: the server forgot the job. Whether it ended well must be looked up.
	JobGone JobState = "Gone"
)

// Outcome is what is known of a job.
type Outcome struct {
	State JobState
	// Err is set when State is JobFailed. A job that died with its server has the kind Internal.
	Err *Error
}

const (
	// jobPollInterval is the pause between two looks at all open jobs while more of them begin, and at most.
	jobPollInterval = 2 * time.Second
	// firstLook is the age at which a job is looked at first: on the network most have ended by then. Machines take longer, and
	// longest to go.
	firstLook, firstLookVM, firstLookDestroy = time.Second, 1500 * time.Millisecond, 5500 * time.Millisecond
	// leastPause is the pause between two looks at jobs of which no more began.
	leastPause = 500 * time.Millisecond
	// patience is the part of its age that a job is left alone for after no more began: a job is seen to have ended at most so
	// much later than it did, for a number of looks that hardly grows with how long it takes.
	patience = 4
	// jobTick is how often it is seen whether any job is due.
	jobTick = 250 * time.Millisecond
	// mostAsked is how many jobs are asked for one by one, without a list of those that are open.
	mostAsked = 3
	// jobMemory is how long the outcome of a job is kept for whoever asks.
	jobMemory = 15 * time.Minute
)

// jobs follows all open jobs of a session: one list a look, and one query for each that is no longer in it.
type jobs struct {
	session *Session

	mu   sync.Mutex
	open map[Job]*watch
	done map[Job]ended
	// looked is when all open jobs were looked at last.
	looked time.Time
}

type watch struct {
	command string
	wake    []func()
	// since is when the job was first followed.
	since time.Time
	// subject is the machine that the job is about; nil for other jobs.
	subject *vmSubject
}

// vmSubject is a machine whose state tells how a job ended.
type vmSubject struct {
	owner Owner
	id    string
}

type ended struct {
	outcome Outcome
	at      time.Time
}

func newJobs(s *Session) *jobs {
	return &jobs{session: s, open: map[Job]*watch{}, done: map[Job]ended{}}
}

// Follow tells what is known of a job and, while it runs, sees to it that wake is called once when it has ended. A job
// that the session has not seen yet, after a restart for example, is taken up. command is for error texts.
func (s *Session) Follow(job Job, command string, wake func()) Outcome {
	return s.jobs.follow(job, command, nil, wake)
}

// FollowVM is Follow for a job about a machine. When it ends, the machines of the owner are listed, so that one call tells
// for many jobs at once what became of their machines: WatchVM has it.
func (s *Session) FollowVM(job Job, command string, owner Owner, vmID string, wake func()) Outcome {
	return s.jobs.follow(job, command, &vmSubject{owner: owner, id: vmID}, wake)
}

func (j *jobs) follow(job Job, command string, subject *vmSubject, wake func()) Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e, ok := j.done[job]; ok {
		return e.outcome
	}
	w := j.open[job]
	if w == nil {
		w = &watch{command: command, subject: subject, since: j.session.clock.Now()}
		j.open[job] = w
	}
	if wake != nil {
		// An object asks again at each of its reconciles; one wake-up is enough for it, and one function a job for us.
		w.wake = []func(){wake}
	}
	return Outcome{State: JobRunning}
}

// inherit takes over what a session of the same credential was following.
func (j *jobs) inherit(from *jobs) {
	from.mu.Lock()
	defer from.mu.Unlock()
	for id, w := range from.open {
		j.open[id] = w
	}
	for id, e := range from.done {
		j.done[id] = e
	}
	from.open = map[Job]*watch{}
}

// pollDue looks at all open jobs when that is due.
func (j *jobs) pollDue(ctx context.Context) {
	if j.due() {
		j.look(ctx, j.followed((*watch).ripe))
	}
}

// due tells whether a look is worth while. As long as more jobs begin, one look after the usual pause serves many of them;
// the last ones are looked at more often, because somebody waits for just them.
func (j *jobs) due() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.session.clock.Now()
	ripe, newest := false, watch{}
	for _, w := range j.open {
		ripe = ripe || w.ripe(now)
		if w.since.After(newest.since) {
			newest = *w
		}
	}
	pause := jobPollInterval
	if newest.ripe(now) {
		pause = min(pause, max(leastPause, now.Sub(newest.since)/patience))
	}
	return ripe && now.Sub(j.looked) >= pause
}

// ripe tells whether a job may have ended.
func (w *watch) ripe(now time.Time) bool {
	first := firstLook
	switch {
	case w.command == commandDestroy:
		first = firstLookDestroy
	case w.subject != nil:
		first = firstLookVM
	}
	return now.Sub(w.since) >= first
}

// poll looks at all open jobs.
func (j *jobs) poll(ctx context.Context) {
	j.look(ctx, j.followed(func(*watch, time.Time) bool { return true }))
}

// look sees which jobs have ended. A list of the open ones serves many; where few are looked at, and not one machine of several
// is, asking for each is no more calls.
func (j *jobs) look(ctx context.Context, followed map[Job]watch) {
	machines := 0
	for _, w := range followed {
		if w.subject != nil {
			machines++
		}
	}
	switch {
	case len(followed) == 1:
		j.ask(ctx, followed, func(id Job, outcome Outcome) {
			j.session.vmOutcomes(ctx, followed)
			j.end(id, outcome)
		})
		return
	case machines == 0 && len(followed) <= mostAsked:
		j.ask(ctx, followed, j.end)
		return
	}
	running, err := j.session.runningJobs(ctx)
	if err != nil && !Is(err, NotPermitted) {
		return
	}
	maps.DeleteFunc(followed, func(id Job, _ watch) bool { return running[id] })
	for id, outcome := range j.session.vmOutcomes(ctx, followed) {
		delete(followed, id)
		j.end(id, outcome)
	}
	j.ask(ctx, followed, j.end)
}

// ask asks for jobs one by one and hands over those that have ended.
func (j *jobs) ask(ctx context.Context, followed map[Job]watch, done func(Job, Outcome)) {
	for id, w := range followed {
		outcome, err := j.session.JobOutcome(ctx, id, w.command)
		if err == nil && outcome.State != JobRunning {
			done(id, outcome)
		}
	}
}

// followed gives the open jobs that something holds for.
func (j *jobs) followed(holds func(*watch, time.Time) bool) map[Job]watch {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.session.clock.Now()
	j.looked = now
	for id, e := range j.done {
		if now.Sub(e.at) > jobMemory {
			delete(j.done, id)
		}
	}
	out := make(map[Job]watch, len(j.open))
	for id, w := range j.open {
		if holds(w, now) {
			out[id] = *w
		}
	}
	return out
}

func (j *jobs) end(id Job, outcome Outcome) {
	j.mu.Lock()
	w := j.open[id]
	delete(j.open, id)
	j.done[id] = ended{outcome: outcome, at: j.session.clock.Now()}
	j.mu.Unlock()
	if w == nil {
		return
	}
	for _, wake := range w.wake {
		wake()
	}
}

// runningJobs lists the jobs that the caller's account has open.
func (s *Session) runningJobs(ctx context.Context) (map[Job]bool, error) {
	rows, err := walk(ctx, pager[*sdk.AsyncJob]{
		command: "listAsyncJobs",
		id:      func(j *sdk.AsyncJob) string { return j.JobID },
		get: func(ctx context.Context, number, size int) (page[*sdk.AsyncJob], error) {
			got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.ListAsyncJobsResponse, error) {
				p := c.Asyncjob.NewListAsyncJobsParams()
				p.SetPage(number)
				p.SetPagesize(size)
				return c.Asyncjob.ListAsyncJobs(p)
			})
			if err != nil {
				return page[*sdk.AsyncJob]{}, err
			}
			return page[*sdk.AsyncJob]{rows: got.AsyncJobs, count: got.Count}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	open := make(map[Job]bool, len(rows))
	for _, row := range rows {
		if row.Jobstatus == 0 {
			open[Job(row.JobID)] = true
		}
	}
	return open, nil
}

// JobOutcome asks the server about one job. command is what began it, for error texts.
// An error means that nothing could be learnt.
func (s *Session) JobOutcome(ctx context.Context, job Job, command string) (Outcome, error) {
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.QueryAsyncJobResultResponse, error) {
		// The SDK's own verb for this sleeps and asks twice more when it is refused.
		p := &sdk.CustomServiceParams{}
		p.SetParam("jobid", string(job))
		out := &sdk.QueryAsyncJobResultResponse{}
		return out, custom(c).CustomRequest("queryAsyncJobResult", p, out)
	})
	switch {
	case Is(err, NotFound):
		return Outcome{State: JobGone}, nil
	case err != nil:
		return Outcome{}, err
	case got.Jobstatus == 0:
		return Outcome{State: JobRunning}, nil
	case got.Jobstatus == 1:
		return Outcome{State: JobSucceeded}, nil
	}
	return Outcome{State: JobFailed, Err: s.jobError(command, got)}, nil
}

// custom is the service for any command; its interface in the SDK has no methods.
func custom(c *sdk.CloudStackClient) *sdk.CustomService {
	if s, ok := c.Custom.(*sdk.CustomService); ok {
		return s
	}
	return &sdk.CustomService{}
}

// jobError reads why a job failed. A job that died with its management server has a code and no result.
func (s *Session) jobError(command string, got *sdk.QueryAsyncJobResultResponse) *Error {
	var result struct {
		ErrorCode int    `json:"errorcode"`
		ErrorText string `json:"errortext"`
	}
	if len(got.Jobresult) == 0 || json.Unmarshal(got.Jobresult, &result) != nil || result.ErrorCode == 0 {
		text := "the job ended without a result, as after a restart of the management server"
		return &Error{Kind: Internal, Command: command, HTTP: got.Jobresultcode, Text: text}
	}
	found := wireError{HTTP: result.ErrorCode, Text: result.ErrorText}
	return &Error{Kind: classify(found), Command: command, HTTP: found.HTTP, Text: s.redact.text(found.Text)}
}
