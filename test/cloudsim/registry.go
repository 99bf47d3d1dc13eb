package cloudsim

import "time"

// command is how the server carries out one API. Exactly one of sync and async is set.
type command struct {
	sync  func(*call) (object, error)
	async func(*call) (*work, error)
	// class and adminClass are the Java classes that polls of its jobs show; the second to root admins.
	class, adminClass string
	// takes is how long its job runs.
	takes time.Duration
	// required is the order in which missing parameters are reported, as far as it is known.
	required []string
	// notEmpty are parameters that may not be sent empty.
	notEmpty []string
	// alias is the name in envelope and texts where it is not the command's own.
	alias string
	// refers says what an id is the id of, where the API description leaves it open.
	refers map[string]string
	// fields names the Java field of a parameter where a text shows it.
	fields map[string]string
}

// registry lists what the simulator can do, noun by noun. Other commands of a real server answer as unsupported says.
func registry() map[string]command {
	return map[string]command{
		// wire
		"getApiLimit":         {sync: getAPILimit},
		"queryAsyncJobResult": {sync: queryAsyncJobResult, notEmpty: []string{"jobid"}},
		"listAsyncJobs":       {sync: listAsyncJobs},
		// zones
		"listZones": {sync: listZones},
	}
}
