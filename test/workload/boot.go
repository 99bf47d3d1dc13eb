package workload

import (
	"context"
	"errors"
	"slices"
	"time"
)

// run is one boot, until the machine loses its power.
func (g *guest) run(ctx context.Context) {
	g.console.boot(time.Now())
	m := g.self()
	g.say("Booting %s (%s) from template %q", m.HostName, m.ID, m.Template.Name)
	if !pause(ctx, g.world.opts.Boot) {
		return
	}
	if !g.disk.provisioned {
		g.disk.provisioned = true
		g.disk.kubernetes = m.Template.Kubernetes
		if g.disk.kubernetes == "" {
			g.say("this image holds no Kubernetes")
		} else {
			g.say("this image holds Kubernetes %s", g.disk.kubernetes)
		}
		g.cloudInit(ctx)
	} else {
		g.say("cloud-init: this instance has been set up before, nothing is run again")
	}
	if g.disk.kubelet != nil {
		g.runKubelet(ctx)
		return
	}
	if g.disk.kubernetes != "" && ctx.Err() == nil {
		g.say("kubelet: failed to load kubelet config file /var/lib/kubelet/config.yaml: no such file or directory")
	}
}

// pause waits; false when the power went meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// cloudInit does what user data asks for.
func (g *guest) cloudInit(ctx context.Context) {
	m := g.self()
	address := ""
	if a := g.address(); a.IsValid() {
		address = a.String()
	}
	config, warnings, err := readUserData(m.UserData, instance{id: m.ID, hostName: m.HostName, zone: m.Zone, address: address})
	for _, w := range warnings {
		g.say("cloud-init: WARNING: %s", w)
	}
	if err != nil {
		g.say("cloud-init: Unhandled user data, nothing is run: %v", err)
		return
	}
	for path, f := range config.files {
		g.disk.files[path] = f
	}
	g.findVirtual()
	g.say("cloud-init: %d files written, %d commands to run", len(config.files), len(config.commands))
	script := config.script
	for _, c := range slices.Concat(config.boot, config.commands) {
		script += c + "\n"
	}
	err = newShell(g).run(ctx, script, false)
	switch {
	case ctx.Err() != nil:
		g.say("cloud-init: power lost")
	case err != nil && !errors.Is(err, errExit):
		g.say("cloud-init: Failed to run module scripts-user: %v", err)
	default:
		g.say("cloud-init: finished")
	}
}
