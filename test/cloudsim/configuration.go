package cloudsim

import (
	"maps"
	"slices"
	"strings"
)

// settingInfo describes a global setting as listConfigurations shows it.
type settingInfo struct {
	category, group, subgroup, def, scope, text, component, title, kind string
	dynamic                                                             bool
}

// knownSettings are the settings whose description is known; others are shown with what can be said of any.
func knownSettings() map[string]settingInfo {
	return map[string]settingInfo{
		"enforce.post.requests.and.timestamps": {"Advanced", "Miscellaneous", "Others", "false", "", "Enable/Disable whether the ApiServer should only accept POST requests for state-changing APIs and requests with timestamps.", "ApiServer", "Enforce post requests and timestamps", "Boolean", false},
		"allow.user.view.destroyed.vm":         {"Advanced", "Compute", "Virtual Machine", "false", "account", "Determines whether users can view their destroyed or expunging vm ", "QueryService", "Allow user view destroyed vm", "Boolean", true},
		"allow.user.expunge.recover.vm":        {"Advanced", "Compute", "Virtual Machine", "false", "account", "Determines whether users can expunge or recover their vm", "UserVmManager", "Allow user expunge recover vm", "Boolean", true},
	}
}

func describeSetting(name string) settingInfo {
	if info, ok := knownSettings()[name]; ok {
		return info
	}
	title := strings.ReplaceAll(name, ".", " ")
	return settingInfo{"Advanced", "Miscellaneous", "Others", "", "", title, "management-server", strings.ToUpper(title[:1]) + title[1:], "String", true}
}

func configurationObject(name, value string) object {
	i := describeSetting(name)
	o := obj("category", i.category, "group", i.group, "subgroup", i.subgroup, "name", name, "value", value).text("defaultvalue", i.def).text("scope", i.scope)
	return append(o, obj("description", i.text, "isdynamic", i.dynamic, "component", i.component, "displaytext", i.title, "type", i.kind)...)
}

func listConfigurations(c *call) (object, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		if (!c.has("name") || strings.EqualFold(name, c.str("name"))) && containsFold(name, c.str("keyword")) {
			names = append(names, name)
		}
	}
	return pageOf(c, "configuration", names, func(name string) object { return configurationObject(name, c.settings[name]) })
}

// updateConfiguration sets a setting for the server or for one account.
func updateConfiguration(c *call) (object, error) {
	name := c.str("name")
	if _, ok := c.settings[name]; !ok {
		return nil, invalid("Config parameter with name %s doesn't exist", name)
	}
	if a, ok := refer(c, c.accounts, "accountid"); ok && a != nil {
		a.details[name] = c.str("value")
	} else {
		c.settings[name] = c.str("value")
	}
	return obj("configuration", configurationObject(name, c.str("value"))), nil
}

// updateZone enables or disables a zone, or renames it.
func updateZone(c *call) (object, error) {
	z, _ := refer(c, c.zones, "id")
	if z == nil || !z.live() {
		return nil, invalid("unable to find zone by id %s", c.str("id"))
	}
	switch state := c.str("allocationstate"); {
	case strings.EqualFold(state, "Enabled"):
		z.allocation = "Enabled"
	case strings.EqualFold(state, "Disabled"):
		z.allocation = "Disabled"
	case state != "":
		return nil, invalid("Unable to resolve Allocation State '%s' to a supported state", state)
	}
	if v := c.str("name"); v != "" {
		z.name = v
	}
	return obj("zone", c.zoneObject(z)), nil
}
