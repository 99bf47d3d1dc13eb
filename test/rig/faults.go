package rig

import (
	"strings"

	"github.com/capcat/capcat/test/cloudsim"
)

// Faults are all that can happen to one call of a command. To a command that only reads it makes no difference whether a
// fault strikes before or after. kinds are those that strike before and after.
func Faults(command string, kinds ...string) []cloudsim.Fault {
	reads := strings.HasPrefix(command, "list") || strings.HasPrefix(command, "query")
	var all []cloudsim.Fault
	for _, kind := range kinds {
		all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseBefore, Kind: kind})
		if !reads {
			all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseAfter, Kind: kind})
		}
	}
	all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultReset})
	if !reads {
		all = append(all, cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultError},
			cloudsim.Fault{Command: command, Phase: cloudsim.PhaseDuring, Kind: cloudsim.FaultJob})
	}
	return all
}

// FaultName names a fault as a subtest.
func FaultName(f cloudsim.Fault) string {
	return strings.Join([]string{f.Command, f.Phase, f.Kind}, "/")
}
