package cloudsim_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/test/cloudsim/internal/meta"
)

// wireType is how a described type looks in JSON, "" for types that may look like anything.
func wireType(described string) string {
	switch described {
	case "string", "date", "uuid", "url", "imageformat", "state", "status", "apikeyaccess", "clustertype", "hastate", "powerstate":
		return "string"
	case "boolean":
		return "bool"
	case "integer", "int", "long", "short", "float", "double", "bigdecimal":
		return "number"
	case "list", "set":
		return "list"
	case "map":
		return "object"
	}
	return ""
}

// undescribed are fields that a real server sends without describing them.
func undescribed(command, field string) bool {
	return slices.Contains([]string{
		"listApis.params", "listApis.response", // described one level deeper than they are sent
		"listTemplatePermissions.account",
		"createTemplate.childtemplates",
	}, command+"."+field)
}

// checkFields compares the fields of an object with a description.
func checkFields(command string, o map[string]any, fields []meta.Field, path string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		i := slices.IndexFunc(fields, func(f meta.Field) bool { return f.Name == name })
		if i < 0 {
			if !undescribed(command, name) {
				out = append(out, fmt.Sprintf("%s: %s%s is not described", command, path, name))
			}
			continue
		}
		f := fields[i]
		if want := wireType(f.Type); want != "" && want != kindOf(o[name]) {
			out = append(out, fmt.Sprintf("%s: %s%s is a %s, described as %s", command, path, name, kindOf(o[name]), f.Type))
		}
		list, _ := o[name].([]any)
		for _, e := range list {
			if inner, ok := e.(map[string]any); ok && len(f.Response) > 0 {
				out = append(out, checkFields(command, inner, f.Response, path+name+".")...)
			}
		}
	}
	return out
}

// checkReply checks what an envelope of a good reply holds.
func checkReply(api *meta.API, body any) []string {
	var out []string
	envelope, _ := body.(map[string]any)
	for _, inner := range envelope {
		o, _ := inner.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(o)) {
			switch v := o[name].(type) {
			case []any:
				for _, e := range v {
					if row, ok := e.(map[string]any); ok {
						out = append(out, checkFields(api.Name, row, api.Response, "")...)
					}
				}
			case map[string]any:
				out = append(out, checkFields(api.Name, v, api.Response, "")...)
			}
		}
	}
	return out
}

// TestFieldsAreDescribed calls every list of the simulator on every kind of caller and checks that what it sends is in the API
// description of a real server, with the JSON type that it says.
func TestFieldsAreDescribed(t *testing.T) {
	catalog, err := meta.Load()
	if err != nil {
		t.Fatal(err)
	}
	p := newPlayer(t, "recorded")
	p.play(readTranscript(t, "02-templates"))
	p.play(readTranscript(t, "04-tenancy")[:90])
	p.play(readTranscript(t, "25-vpc")[:106])
	p.play(readTranscript(t, "24-portforward-staticnat")[:84])
	calls := map[string]map[string]string{
		"listZones": nil, "listHypervisors": nil, "listHosts": nil, "listPods": nil, "listClusters": nil, "listImageStores": nil, "listRegions": nil, "listCapacity": nil, "listManagementServers": nil, "listManagementServersMetrics": nil,
		"listPhysicalNetworks": nil, "listConfigurations": nil, "listOsTypes": nil, "listOsCategories": nil, "listServiceOfferings": nil,
		"listDiskOfferings": nil, "listNetworkOfferings": nil, "listVPCOfferings": nil, "listAccounts": {"listall": "true"}, "listUsers": {"listall": "true"},
		"listDomains": {"listall": "true"}, "listDomainChildren": nil, "listRoles": nil, "listProjects": {"listall": "true"}, "listResourceLimits": nil,
		"listEvents": nil, "listEventTypes": nil, "listTemplates": {"templatefilter": "executable"}, "listTags": {"listall": "true"},
		"listAffinityGroups": nil, "listNetworks": {"listall": "true"}, "listVirtualMachines": {"listall": "true"}, "listVolumes": {"listall": "true"},
		"listCapabilities": nil, "listInfrastructure": nil, "listPublicIpAddresses": {"listall": "true", "allocatedonly": "false"},
		"listLoadBalancerRules": {"listall": "true"}, "listFirewallRules": {"listall": "true"}, "listEgressFirewallRules": {"listall": "true"},
		"listPortForwardingRules": {"listall": "true"}, "listVPCs": {"listall": "true"}, "listNetworkACLLists": {"listall": "true"},
		"listNetworkACLs": {"listall": "true"}, "listRouters": {"listall": "true"},
	}
	seen := map[string]bool{}
	for command, params := range calls {
		api, ok := catalog.Get(command)
		if !ok {
			t.Fatalf("%s is not described", command)
		}
		for _, caller := range []string{"admin", "tenant", "teamadmin", "user"} {
			got := p.send(&step{As: caller, Method: "GET", Sign: "ok", Command: &command, Params: params})
			if got.status == 432 {
				continue
			}
			if got.status != 200 {
				t.Errorf("%s as %s: %d %v", command, caller, got.status, got.body)
			}
			for _, problem := range checkReply(api, got.body) {
				seen[problem] = true
			}
		}
	}
	if diff := cmp.Diff([]string(nil), slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}
