package cloudsim

// createServiceOffering makes an offering of a fixed size, or one whose size is chosen at deploy.
func createServiceOffering(c *call) (object, error) {
	text := c.str("displaytext")
	if text == "" {
		text = c.str("name")
	}
	custom := c.flag("customized") || !c.has("cpunumber") || !c.has("memory")
	attrs := obj("name", c.str("name"), "state", "Active", "displaytext", text)
	for _, size := range []string{"cpunumber", "cpuspeed", "memory"} {
		if c.has(size) {
			attrs = attrs.with(size, c.num(size, 0))
		}
	}
	attrs = append(attrs, obj("storagetype", "shared", "provisioningtype", "thin", "offerha", c.flag("offerha"), "limitcpuuse", c.flag("limitcpuuse"), "isvolatile", c.flag("isvolatile"),
		"issystem", false, "defaultuse", false, "iscustomized", custom, "rootdisksize", c.num("rootdisksize", 0), "dynamicscalingenabled", c.flagOr("dynamicscalingenabled", true),
		"diskofferingstrictness", false, "diskofferingname", c.str("name"), "diskofferingdisplaytext", text, "encryptroot", false, "gpudisplay", false)...)
	o := c.serviceOfferings.insert(&offering{base: c.newBase(), name: c.str("name"), attrs: attrs, disk: c.ids.uuid()})
	return obj("serviceoffering", c.serviceOfferingObject(o)), nil
}

func deleteServiceOffering(c *call) (object, error) {
	o, _ := refer(c, c.serviceOfferings, "id")
	if o == nil || !o.live() {
		return nil, invalid("unable to find service offering %s", c.str("id"))
	}
	o.removed = c.now()
	return success(), nil
}
