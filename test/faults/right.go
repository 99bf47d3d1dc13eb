package faults

import (
	"strings"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

// Reasons are those that an object may give for not being ready when a call for it was struck by a fault, or any call by one
// that strikes every command.
func Reasons(f cloudsim.Fault) []string {
	switch f.Kind {
	case cloudsim.Fault401:
		return []string{infrav1.ReasonCredentialsRefused}
	case cloudsim.Fault429:
		return []string{infrav1.ReasonThrottled}
	case cloudsim.Fault431:
		return refused(f.Command)
	case cloudsim.Fault432:
		return []string{infrav1.ReasonNotPermitted}
	case cloudsim.Fault502, cloudsim.FaultReset:
		if deploys(f.Command) {
			// Whether there is a VM now is looked up first; the message tells of the call without an answer.
			return []string{infrav1.ReasonAPIUnreachable, infrav1.ReasonDeploying}
		}
		if registers(f.Command) {
			return []string{infrav1.ReasonAPIUnreachable, infrav1.ReasonRegistering, infrav1.ReasonUploading}
		}
		return []string{infrav1.ReasonAPIUnreachable}
	case cloudsim.Fault533:
		if f.Command == "associateIpAddress" {
			return []string{infrav1.ReasonAddressesExhausted}
		}
		return []string{infrav1.ReasonOutOfCapacity}
	case cloudsim.Fault535:
		return []string{infrav1.ReasonQuotaExceeded}
	}
	return failed(f.Command)
}

// refused are the reasons for a call with a value that CloudStack does not take.
func refused(command string) []string {
	switch {
	case deploys(command):
		return []string{infrav1.ReasonDeployRefused}
	case registers(command):
		return []string{infrav1.ReasonDeliveryImpossible}
	case creates(command):
		return []string{infrav1.ReasonInvalidSpec}
	case removes(command):
		return []string{infrav1.ReasonDeletionBlocked}
	}
	right := []string{infrav1.ReasonRequestRefused, infrav1.ReasonDeletionBlocked}
	if reason := missing()[command]; reason != "" {
		right = append(right, reason)
	}
	return right
}

// missing are the reasons of looking in vain for what the user named, by command.
func missing() map[string]string {
	return map[string]string{
		"listZones": infrav1.ReasonZoneNotFound, "listServiceOfferings": infrav1.ReasonOfferingNotFound, "listDiskOfferings": infrav1.ReasonDiskOfferingNotFound,
		"listOsTypes": infrav1.ReasonOSTypeNotFound, "listVPCs": infrav1.ReasonVPCNotFound, "listVPCOfferings": infrav1.ReasonVPCOfferingNotFound,
	}
}

// failed are the reasons for a call, or the job of one, in which CloudStack had an error of its own.
func failed(command string) []string {
	switch {
	case command == "":
		return []string{infrav1.ReasonInternalError, infrav1.ReasonDeployFailed, infrav1.ReasonDeletionBlocked}
	case deploys(command):
		// A VM that the job left behind without a fault of its own is started.
		return []string{infrav1.ReasonDeployFailed, infrav1.ReasonStarting}
	case command == "assignToLoadBalancerRule":
		return []string{infrav1.ReasonAttachFailed, infrav1.ReasonInternalError}
	case command == "deleteNetwork":
		// What holds a network is told to nobody but its administrators: destroyed machines of ours do, too.
		return []string{infrav1.ReasonDeletionBlocked, infrav1.ReasonInternalError, infrav1.ReasonWaitingForExpunge}
	case removes(command):
		return []string{infrav1.ReasonDeletionBlocked, infrav1.ReasonInternalError}
	}
	return []string{infrav1.ReasonInternalError}
}

func deploys(command string) bool { return command == "deployVirtualMachine" || command == "" }

// registers tells whether a command makes a template.
func registers(command string) bool {
	return command == "registerTemplate" || command == "getUploadParamsForTemplate"
}

func creates(command string) bool { return has(command, "create", "associate", "deploy") }

func removes(command string) bool { return has(command, "delete", "destroy", "remove", "disassociate") }

// Reads tells whether a command only looks.
func Reads(command string) bool { return has(command, "list", "query") }

func has(command string, verbs ...string) bool {
	for _, verb := range verbs {
		if strings.HasPrefix(command, verb) {
			return true
		}
	}
	return false
}
