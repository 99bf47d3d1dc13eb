package cloudsim

func listCapabilities(c *call) (object, error) {
	o := obj("securitygroupsenabled", c.anySecurityGroups(), "dynamicrolesenabled", true, "cloudstackversion", c.release, "userpublictemplateenabled", true,
		"supportELB", "false", "projectinviterequired", false, "allowusercreateprojects", true, "customdiskofferingminsize", 1,
		"customdiskofferingmaxsize", 1024)
	if c.enforced.throttling {
		o = append(o, obj("apilimitinterval", c.settingNumber("api.throttling.interval", 1), "apilimitmax", c.settingNumber("api.throttling.max", 25))...)
	}
	view := c.root() || c.acct.setting(c.Server, "allow.user.view.destroyed.vm")
	expunge := c.root() || c.acct.setting(c.Server, "allow.user.expunge.recover.vm")
	o = append(o, obj("regionsecondaryenabled", false, "kvmsnapshotenabled", true, "allowuserviewdestroyedvm", view,
		"allowuserexpungerecovervm", expunge, "allowuserexpungerecovervolume", true, "allowuserviewalldomainaccounts", false)...)
	if c.knows("4.20") {
		o = o.with("allowuserforcestopvm", true)
	}
	o = append(o, obj("kubernetesserviceenabled", c.settingTrue("cloud.kubernetes.service.enabled"), "kubernetesclusterexperimentalfeaturesenabled", false,
		"customhypervisordisplayname", "Custom", "defaultuipagesize", 20, "instancesstatsretentiontime", 720, "instancesstatsuseronly", false,
		"instancesdisksstatsretentionenabled", false, "instancesdisksstatsretentiontime", 720)...)
	if c.knows("4.20") {
		o = append(o, obj("sharedfsvmmincpucount", 2, "sharedfsvmminramsize", 1024)...)
	}
	if c.knows("4.21") {
		o = o.with("instanceleaseenabled", false)
		if c.root() {
			o = o.with("extensionspath", "extensions")
		}
		o = append(o, obj("dynamicscalingenabled", false, "additionalconfigenabled", false)...)
	}
	return obj("capability", o), nil
}

func (s *Server) anySecurityGroups() bool {
	for _, z := range s.zones.rows {
		if on, _ := z.attrs.get("securitygroupsenabled").(bool); on {
			return true
		}
	}
	return false
}

// setting is a switch that may be set for one account.
func (a *account) setting(s *Server, name string) bool {
	if v, ok := a.details[name]; ok {
		return v == "true"
	}
	return s.settingTrue(name)
}
