package cloudsim

import "strings"

// unsupported answers for a command that a real server has and the simulator does not: a list of things that cannot exist here is
// empty; anything else says so in a text that no real server sends, so that nobody takes it for one.
func (c *call) unsupported() (object, error) {
	c.opts.Log.Info("call of a command that is not simulated", "command", c.name)
	if strings.HasPrefix(c.name, "list") {
		return object{}, nil
	}
	return nil, wrapped(530, "The API [%s] is not simulated", c.name)
}
