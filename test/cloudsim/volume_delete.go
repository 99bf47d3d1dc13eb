package cloudsim

import "time"

// mayDelete refuses disks that a machine has and those that are protected.
func (v *volume) mayDelete() error {
	switch {
	case v.machine != nil:
		return invalid(attachedElsewhere)
	case v.guarded:
		return invalid("Volume [id = %s, name = %s] has delete protection enabled and cannot be deleted.", v.id, v.name)
	}
	return nil
}

func (c *call) removeVolume(v *volume) {
	v.removed = c.now()
	c.dropTags("Volume", v.id)
}

func deleteVolume(c *call) (object, error) {
	v, err := c.ownVolume()
	if err != nil {
		return nil, err
	}
	if err := v.mayDelete(); err != nil {
		return nil, err
	}
	c.removeVolume(v)
	return success(), nil
}

func destroyVolume(c *call) (*work, error) {
	v, err := c.ownVolume()
	if err != nil {
		return nil, err
	}
	return &work{instanceType: "Volume", instanceID: v.id, takes: 500 * time.Millisecond, run: func() (object, error) {
		err := v.mayDelete()
		switch {
		case err != nil:
			return nil, err
		case c.flag("expunge") && !c.mayExpunge() && v.state != volumeAllocated:
			return nil, denied("Expunging a volume can only be done by an Admin. Or when the allow.user.expunge.recover.volume key is set.")
		case v.state == volumeAllocated && !c.flag("expunge"):
			return nil, invalid("The volume in Allocated/Uploaded state can only be expunged not destroyed/recovered")
		}
		v.state = volumeDestroy
		out := obj("volume", c.volumeObject(v))
		if c.flag("expunge") {
			c.removeVolume(v)
			return out, nil
		}
		c.expungeLater(func() {
			if v.live() && v.state == volumeDestroy {
				c.removeVolume(v)
			}
		})
		return out, nil
	}}, nil
}

func recoverVolume(c *call) (object, error) {
	v, err := c.ownVolume()
	if err != nil {
		return nil, err
	}
	if v.state != volumeDestroy {
		return nil, invalid("Please specify a volume in Destroy state.")
	}
	v.state = volumeReady
	return obj("volume", c.volumeObject(v)), nil
}
