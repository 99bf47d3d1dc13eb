package cloudsim

import (
	"maps"
	"time"
)

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
	// hostNames says that the parameter name has to be a host name.
	hostNames bool
	// adminOnly are parameters that users may send without any effect.
	adminOnly []string
}

// byID says that the id of a command is that of a kind of thing.
func byID(kind string) map[string]string { return map[string]string{"id": kind, "ids": kind} }

// registry lists what the simulator can do, noun by noun. Other commands of a real server answer as unsupported says.
func registry() map[string]command {
	out := map[string]command{}
	for _, noun := range []map[string]command{
		wireCommands(),
		infrastructureCommands(),
		offeringCommands(),
		accountCommands(),
		roleCommands(),
		projectCommands(),
		limitCommands(),
		templateCommands(),
		tagCommands(),
		affinityCommands(),
		machineCommands(),
		volumeCommands(),
		keyCommands(),
		securityCommands(),
		kubernetesCommands(),
		networkingCommands(),
	} {
		maps.Copy(out, noun)
	}
	return out
}

// wireCommands are about the server itself and its jobs.
func wireCommands() map[string]command {
	return map[string]command{
		"getApiLimit":         {sync: getAPILimit},
		"listApis":            {sync: listApis},
		"listCapabilities":    {sync: listCapabilities},
		"queryAsyncJobResult": {sync: queryAsyncJobResult, notEmpty: []string{"jobid"}},
		"listAsyncJobs":       {sync: listAsyncJobs},
	}
}

// infrastructureCommands are about infrastructure.
func infrastructureCommands() map[string]command {
	return map[string]command{
		"listZones":                    {sync: listZones, refers: byID("zone")},
		"updateZone":                   {sync: updateZone, refers: byID("zone")},
		"listHypervisors":              {sync: listHypervisors},
		"listPods":                     {sync: listPods, refers: byID("pod")},
		"listClusters":                 {sync: listClusters, refers: byID("cluster")},
		"listImageStores":              {sync: listImageStores, refers: byID("imagestore")},
		"listRegions":                  {sync: listRegions},
		"listHosts":                    {sync: listHosts, refers: byID("host")},
		"listCapacity":                 {sync: listCapacity},
		"listInfrastructure":           {sync: listInfrastructure},
		"listManagementServers":        {sync: listManagementServers},
		"listManagementServersMetrics": {sync: listManagementServersMetrics},
		"listPhysicalNetworks":         {sync: listPhysicalNetworks, refers: byID("physicalnetwork")},
		"listConfigurations":           {sync: listConfigurations},
		"updateConfiguration":          {sync: updateConfiguration},
	}
}

// offeringCommands are about OS types and offerings.
func offeringCommands() map[string]command {
	return map[string]command{
		"listOsTypes":           {sync: listOsTypes, refers: byID("ostype")},
		"listOsCategories":      {sync: listOsCategories, refers: byID("oscategory")},
		"listServiceOfferings":  {sync: listServiceOfferings, refers: byID("serviceoffering")},
		"createServiceOffering": {sync: createServiceOffering},
		"deleteServiceOffering": {sync: deleteServiceOffering, refers: byID("serviceoffering")},
		"listDiskOfferings":     {sync: listDiskOfferings, refers: byID("diskoffering")},
		"listNetworkOfferings":  {sync: listNetworkOfferings, refers: byID("networkoffering")},
		"listVPCOfferings":      {sync: listVPCOfferings, refers: byID("vpcoffering")},
	}
}

// accountCommands are about accounts, users, domains.
func accountCommands() map[string]command {
	return map[string]command{
		"listAccounts":       {sync: listAccounts, refers: byID("account")},
		"createAccount":      {sync: createAccount, refers: map[string]string{"roleid": "role"}},
		"updateAccount":      {sync: updateAccount, refers: byID("account")},
		"enableAccount":      {sync: enableAccount, refers: byID("account")},
		"lockAccount":        {sync: lockAccount},
		"disableAccount":     {async: disableAccount, class: "admin.account.DisableAccountCmd", takes: time.Second, refers: byID("account")},
		"deleteAccount":      {async: deleteAccount, class: "admin.account.DeleteAccountCmd", takes: time.Second, refers: byID("account")},
		"listUsers":          {sync: listUsers, refers: byID("user")},
		"createUser":         {sync: createUser},
		"getUser":            {sync: getUser},
		"updateUser":         {sync: updateUser, refers: byID("user")},
		"enableUser":         {sync: setUserState("enabled"), refers: byID("user")},
		"lockUser":           {sync: setUserState("locked"), refers: byID("user")},
		"disableUser":        {async: disableUser, class: "admin.user.DisableUserCmd", refers: byID("user")},
		"deleteUser":         {sync: deleteUser, refers: byID("user")},
		"registerUserKeys":   {sync: registerUserKeys, refers: byID("user")},
		"getUserKeys":        {sync: getUserKeys, refers: byID("user")},
		"listDomains":        {sync: listDomains, refers: byID("domain")},
		"listDomainChildren": {sync: listDomainChildren, refers: byID("domain")},
		"createDomain":       {sync: createDomain},
		"updateDomain":       {sync: updateDomain, refers: byID("domain")},
		"deleteDomain":       {async: deleteDomain, class: "admin.domain.DeleteDomainCmd", takes: time.Second, refers: byID("domain")},
	}
}

// roleCommands are about roles.
func roleCommands() map[string]command {
	return map[string]command{
		"listRoles":            {sync: listRoles, refers: byID("role")},
		"createRole":           {sync: createRole},
		"updateRole":           {sync: updateRole, refers: byID("role")},
		"deleteRole":           {sync: deleteRole, refers: byID("role")},
		"listRolePermissions":  {sync: listRolePermissions},
		"createRolePermission": {sync: createRolePermission},
		"deleteRolePermission": {sync: deleteRolePermission, refers: byID("rolepermission")},
	}
}

// projectCommands are about projects.
func projectCommands() map[string]command {
	return map[string]command{
		"listProjects":             {sync: listProjects, refers: byID("project")},
		"createProject":            {async: createProject, class: "user.project.CreateProjectCmd", takes: 500 * time.Millisecond},
		"updateProject":            {async: updateProject, class: "user.project.UpdateProjectCmd", refers: byID("project")},
		"suspendProject":           {async: setProjectState("Suspended"), class: "user.project.SuspendProjectCmd", takes: time.Second, refers: byID("project")},
		"activateProject":          {async: setProjectState("Active"), class: "user.project.ActivateProjectCmd", alias: "activateroject", takes: 500 * time.Millisecond, refers: byID("project")}, // sic
		"deleteProject":            {async: deleteProject, class: "user.project.DeleteProjectCmd", takes: time.Second, refers: byID("project")},
		"addAccountToProject":      {async: addAccountToProject, class: "user.account.AddAccountToProjectCmd"},
		"deleteAccountFromProject": {async: deleteAccountFromProject, class: "user.account.DeleteAccountFromProjectCmd"},
		"listProjectAccounts":      {sync: listProjectAccounts},
	}
}

// limitCommands are about limits and events.
func limitCommands() map[string]command {
	return map[string]command{
		"listResourceLimits":  {sync: listResourceLimits},
		"updateResourceLimit": {sync: updateResourceLimit},
		"listEvents":          {sync: listEvents, refers: byID("event")},
		"listEventTypes":      {sync: listEventTypes},
	}
}

// templateCommands are about templates.
func templateCommands() map[string]command {
	return map[string]command{
		"listTemplates":             {sync: listTemplates, refers: byID("template")},
		"registerTemplate":          {sync: registerTemplate, required: []string{"format", "hypervisor", "name", "url"}, fields: map[string]string{"name": "templateName"}},
		"updateTemplate":            {sync: updateTemplate, refers: byID("template"), fields: map[string]string{"name": "templateName"}},
		"updateTemplatePermissions": {sync: updateTemplatePermissions, refers: byID("template")},
		"listTemplatePermissions":   {sync: listTemplatePermissions, refers: byID("template")},
		"copyTemplate":              {async: copyTemplate, class: "user.template.CopyTemplateCmd", adminClass: "admin.template.CopyTemplateCmdByAdmin", takes: time.Second, refers: byID("template")},
		"deleteTemplate":            {async: deleteTemplate, class: "user.template.DeleteTemplateCmd", takes: time.Second, refers: byID("template")},
		"extractTemplate":           {async: extractTemplate, class: "user.template.ExtractTemplateCmd", refers: byID("template")},
		"getUploadParamsForTemplate": {sync: getUploadParamsForTemplate, alias: "postuploadtemplate", required: []string{"hypervisor", "format", "name", "zoneid"},
			fields: map[string]string{"name": "name"}},
	}
}

// tagCommands are about tags.
func tagCommands() map[string]command {
	return map[string]command{
		"createTags": {async: createTags, class: "user.tag.CreateTagsCmd"},
		"deleteTags": {async: deleteTags, class: "user.tag.DeleteTagsCmd"},
		"listTags":   {sync: listTags},

		"listResourceDetails":  {sync: listResourceDetails},
		"addResourceDetail":    {async: addResourceDetail, class: "user.volume.AddResourceDetailCmd"},
		"removeResourceDetail": {async: removeResourceDetail, class: "user.volume.RemoveResourceDetailCmd"},
	}
}

// affinityCommands are about affinity groups.
func affinityCommands() map[string]command {
	return map[string]command{
		"listAffinityGroups":     {sync: listAffinityGroups, refers: byID("affinitygroup")},
		"listAffinityGroupTypes": {sync: listAffinityGroupTypes},
		"createAffinityGroup":    {async: createAffinityGroup, class: "user.affinitygroup.CreateAffinityGroupCmd"},
		"deleteAffinityGroup":    {async: deleteAffinityGroup, class: "user.affinitygroup.DeleteAffinityGroupCmd", refers: byID("affinitygroup")},
		"updateVMAffinityGroup":  {async: updateVMAffinityGroup, class: "user.affinitygroup.UpdateVMAffinityGroupCmd", adminClass: "admin.affinitygroup.UpdateVMAffinityGroupCmdByAdmin", alias: "updatevirtualmachine", refers: byID("vm")},
	}
}
