package cloudsim

import (
	"slices"
	"strconv"
	"time"
)

// States of a job.
const (
	jobPending   = 0
	jobSucceeded = 1
	jobFailed    = 2
)

// job is the slow part of a command.
type job struct {
	base
	user         *user
	acct         *account
	command      string
	class        string
	instanceType string
	instanceID   string
	status       int
	code         int
	result       object
	completed    time.Time
	work         *work
	fault        *activeFault
}

// work is what an async command left to do when it answered.
type work struct {
	created      string // id of what the command made, shown in its reply
	instanceType string
	instanceID   string
	queue        string        // jobs of one queue run one after another; empty for none
	takes        time.Duration // overrides the time of the command
	atOnce       bool          // the job has ended when the command answers
	start        func()        // when the job leaves its queue
	// pace says, when the job leaves its queue, what happens on the way and how long it takes; nil for jobs of one step.
	pace func() (phases []phase, takes time.Duration)
	run  func() (object, error)
}

// phase is something that happens while a job runs.
type phase struct {
	at time.Duration // since the job left its queue
	do func()
}

// startJob lets an async command check and create, and schedules the rest.
func (c *call) startJob() (object, error) {
	w, err := c.spec.async(c)
	if err != nil {
		return nil, err
	}
	c.working = true // what is left of this call is its job
	j := c.jobs.insert(&job{base: c.newBase(), user: c.user, acct: c.acct, command: c.name, class: c.className(),
		instanceType: w.instanceType, instanceID: w.instanceID, work: w, fault: c.fault})
	if w.instanceID != "" {
		c.open[w.instanceID] = append(c.open[w.instanceID], j)
	}
	takes := w.takes
	if takes == 0 && !w.atOnce {
		takes = c.spec.takes
	}
	c.enqueue(j, takes)
	out := object{}
	return out.text("id", w.created).with("jobid", j.id), nil
}

// slowness is how much longer than usual a job takes.
func (j *job) slowness() time.Duration {
	if j.fault == nil || j.fault.Kind != FaultSlow {
		return 0
	}
	return j.fault.duration()
}

// className is the Java class that polls show.
func (c *call) className() string {
	if c.root() && c.spec.adminClass != "" {
		return "org.apache.cloudstack.api.command." + c.spec.adminClass
	}
	return "org.apache.cloudstack.api.command." + c.spec.class
}

// enqueue starts a job now or when the one before it in its queue has ended.
func (s *Server) enqueue(j *job, takes time.Duration) {
	begin := func() {
		if j.status != jobPending {
			return
		}
		if j.work.start != nil {
			j.work.start()
		}
		s.after(s.schedule(j, takes), func() { s.finishJob(j) })
	}
	if j.work.queue == "" {
		begin()
		return
	}
	s.queues[j.work.queue] = append(s.queues[j.work.queue], begin)
	if len(s.queues[j.work.queue]) == 1 {
		begin()
	}
}

// schedule plans what happens on the way of a job and says how long it takes in all.
func (s *Server) schedule(j *job, takes time.Duration) time.Duration {
	var phases []phase
	if j.work.pace != nil {
		phases, takes = j.work.pace()
	}
	whole := takes
	if s.opts.JobTime != nil && !j.work.atOnce {
		takes = s.opts.JobTime(j.command)
	}
	for _, p := range phases {
		at := p.at
		if whole > 0 {
			at = time.Duration(float64(p.at) * float64(takes) / float64(whole))
		}
		s.after(at, func() {
			if j.status == jobPending && (j.fault == nil || !j.fault.failsJob(PhaseBefore)) {
				p.do()
			}
		})
	}
	return takes + j.slowness()
}

// openJob is the job that works on a thing or waits to, nil for none; of several the first.
func (s *Server) openJob(instanceID string) *job {
	for _, j := range s.open[instanceID] {
		if j.status == jobPending {
			return j
		}
	}
	return nil
}

// closed forgets that a job is open.
func (s *Server) closed(j *job) {
	rest := slices.DeleteFunc(s.open[j.instanceID], func(o *job) bool { return o == j })
	if len(rest) == 0 {
		delete(s.open, j.instanceID)
		return
	}
	s.open[j.instanceID] = rest
}

// finishJob runs the work of a job and keeps its result.
func (s *Server) finishJob(j *job) {
	if j.status == jobPending {
		s.execute(j)
	}
	q := s.queues[j.work.queue]
	if j.work.queue == "" || len(q) == 0 {
		return
	}
	if q = q[1:]; len(q) == 0 {
		delete(s.queues, j.work.queue)
		return
	}
	s.queues[j.work.queue] = q
	q[0]()
}

func (s *Server) execute(j *job) {
	defer s.closed(j)
	j.completed = s.now()
	s.after(time.Duration(s.settingNumber("job.expire.minutes", 1440))*time.Minute, func() { s.jobs.drop(j) })
	if j.fault != nil && j.fault.failsJob(PhaseBefore) {
		j.status, j.code = jobFailed, 530
		return
	}
	result, err := j.work.run()
	switch {
	case err != nil:
		j.status = jobFailed
		j.code, j.result = asAPIError(err).jobResult()
	case j.fault != nil && j.fault.failsJob(""):
		j.status, j.code = jobFailed, 530
	default:
		j.status, j.result = jobSucceeded, result
	}
}

// abandonJobs fails what is running, as a restart of the server does.
func (s *Server) abandonJobs() {
	for _, j := range s.jobs.rows {
		if j.status == jobPending {
			j.status, j.code, j.completed = jobFailed, 530, s.now()
		}
	}
	s.queues, s.open = map[string][]func(){}, map[string][]*job{}
}

// jobObject is a job as polls and lists show it.
func (c *call) jobObject(j *job) object {
	o := obj("accountid", j.acct.id, "account", j.acct.name, "domainid", j.acct.domain.id, "domainpath", j.acct.domain.path(),
		"userid", j.user.id, "cmd", j.class, "jobprocstatus", 0, "jobresultcode", j.code)
	if j.result != nil {
		o = o.with("jobresulttype", "object").with("jobresult", c.resultFor(j.result))
	}
	o = o.text("jobinstancetype", j.instanceType)
	if !contains(silentInstances(), j.instanceType) {
		o = o.text("jobinstanceid", j.instanceID)
	}
	if j.status == jobPending || (j.status == jobFailed && j.result == nil) {
		o = o.with("managementserverid", c.manager.id)
		if c.knows("4.21") {
			o = o.with("managementservername", c.manager.name)
		}
	}
	o = o.with("created", stamp(j.created))
	if !j.completed.IsZero() {
		o = o.with("completed", stamp(j.completed))
	}
	return o.with("jobid", j.id).with("jobstatus", j.status)
}

// resultFor is a kept result as the caller may see it: fields for root admins only are left out for others.
func (c *call) resultFor(result object) object {
	if c.root() || len(result) == 0 {
		return result
	}
	inner, ok := result[0].value.(object)
	if !ok {
		return result
	}
	return result.replace(result[0].name, inner.without("displayvm", "displayvolume"))
}

// silentInstances are the types whose ids polls do not show.
func silentInstances() []string {
	return []string{"None", "Network", "Project", "AffinityGroup", "KubernetesCluster", "Vpc", "NetworkAcl", "NetworkAclItem"}
}

func queryAsyncJobResult(c *call) (object, error) {
	j, _ := refer(c, c.jobs, "jobid")
	if j == nil {
		return nil, invalid("Unable to find a job by id %s", c.str("jobid"))
	}
	if !c.root() && j.acct != c.acct && !(c.acct.kind == accountDomain && c.acct.domain.contains(j.acct.domain)) {
		return nil, denied("Account %s is not authorized to see job id=%d", c.accountText(), j.db)
	}
	return c.jobObject(j), nil
}

// accountText prints the caller as many refusals do; the uuid in it is a random one, except inside a job.
func (c *call) accountText() string {
	uuid := c.acct.id
	if !c.working {
		uuid = c.ids.uuid()
	}
	return `Account [{"accountName":` + strconv.Quote(c.acct.name) + `,"id":` + strconv.FormatInt(c.acct.db, 10) + `,"uuid":"` + uuid + `"}]`
}

func listAsyncJobs(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	rows := c.jobs.all(func(j *job) bool { return j.status == jobPending && owner(j.acct) })
	return pageOf(c, "asyncjobs", rows, c.jobObject)
}
