package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capcat/capcat/test/cloudsim"
)

//go:embed cloudsim.md
var help string

// settings are the flags of the command.
type settings struct {
	listen, control, preset, clock, version, upload, storage, guests, loopback string
	resolve                                                                    []string
	seed                                                                       uint64
	boot, grace                                                                time.Duration
	keepNodes                                                                  bool
}

// announcement is the one line that tells how to reach the server.
type announcement struct {
	URL     string               `json:"url"`
	Control string               `json:"control"`
	Keys    map[string][2]string `json:"keys"`
	Upload  string               `json:"upload"`
	CAFile  string               `json:"caFile"`
}

func newCommand(out io.Writer) *cobra.Command {
	var o settings
	cmd := &cobra.Command{
		Use:           "cloudsim",
		Short:         "Serve a simulated CloudStack",
		Long:          help,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o, out) },
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to serve the API on; port 0 takes a free one")
	f.StringVar(&o.control, "control", "", "address to serve the control endpoints on (default a free port of the host of --listen)")
	f.StringVar(&o.preset, "preset", cloudsim.PresetDemo, "what the server has at the start: "+strings.Join(cloudsim.Presets(), ", "))
	f.StringVar(&o.clock, "clock", "real", "real, or manual: time passes only by POST advance")
	f.StringVar(&o.version, "version", "4.22", "release to answer as: 4.19, 4.20, 4.21 or 4.22")
	f.StringArrayVar(&o.resolve, "resolve", nil, "NAME=ADDRESS[:PORT]: a name that counts as a public host and is dialled there; may be repeated")
	f.StringVar(&o.upload, "upload-address", "", "address of the upload endpoint, as it stands in upload URLs (default a free port of the loopback address)")
	f.StringVar(&o.storage, "storage", "", "directory of secondary storage (default a temporary one)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of ids and keys")
	f.StringVar(&o.guests, "guests", guestsNone, "what runs in the machines: "+strings.Join(tiers(), ", ")+"; what they serve is reached on the public addresses of --preset loopback")
	f.StringVar(&o.loopback, "loopback", "", "/16 of 127.0.0.0/8 for the addresses of --preset loopback (default the first that no other simulator has)")
	f.DurationVar(&o.boot, "boot-time", 0, "how long a machine takes until its cloud-init runs (default 1s)")
	f.DurationVar(&o.grace, "node-grace", 0, "how long a kubelet may be silent until its Node is not ready (default 10s)")
	f.BoolVar(&o.keepNodes, "keep-nodes", false, "leave the Nodes of destroyed machines, as without a cloud controller manager")
	return cmd
}

func (o settings) options() (cloudsim.Options, error) {
	opts := cloudsim.Options{Preset: o.preset, Version: o.version, Seed: o.seed, UploadAddress: o.upload, StorageDir: o.storage, Resolve: map[string]string{}}
	switch o.clock {
	case "real":
	case "manual":
		opts.Clock = cloudsim.NewManualClock(time.Now())
	default:
		return opts, fmt.Errorf("unknown clock %q, known are real and manual", o.clock)
	}
	for _, r := range o.resolve {
		name, addr, ok := strings.Cut(r, "=")
		if !ok {
			return opts, fmt.Errorf("--resolve %q is not NAME=ADDRESS", r)
		}
		opts.Resolve[name] = addr
	}
	if o.loopback != "" {
		var err error
		if opts.Loopback, err = netip.ParsePrefix(o.loopback); err != nil {
			return opts, fmt.Errorf("--loopback: %w", err)
		}
	}
	return opts, nil
}

// run serves until ctx ends.
func run(ctx context.Context, o settings, out io.Writer) (err error) {
	opts, err := o.options()
	if err != nil {
		return err
	}
	world, err := o.world(ctx)
	if err != nil {
		return err
	}
	if world != nil {
		opts.Guests = world
		defer func() { err = errors.Join(err, world.Close()) }()
	}
	sim, err := cloudsim.New(opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sim.Close()) }()
	api, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening for the API: %w", err)
	}
	host, _, _ := net.SplitHostPort(api.Addr().String())
	if o.control == "" {
		o.control = net.JoinHostPort(host, "0")
	}
	control, err := net.Listen("tcp", o.control)
	if err != nil {
		return errors.Join(fmt.Errorf("listening for control: %w", err), api.Close())
	}
	dir, err := os.MkdirTemp("", "cloudsim-")
	if err != nil {
		return errors.Join(fmt.Errorf("making a directory for the CA file: %w", err), api.Close(), control.Close())
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := announce(sim, api, control, dir, out); err != nil {
		return errors.Join(err, api.Close(), control.Close())
	}
	return serve(ctx, map[net.Listener]http.Handler{api: sim, control: sim.ControlHandler()})
}

// announce writes the CA file and prints the line that scripts read.
func announce(sim *cloudsim.Server, api, control net.Listener, dir string, out io.Writer) error {
	ca := filepath.Join(dir, "upload-ca.pem")
	if err := os.WriteFile(ca, sim.UploadCA(), 0o644); err != nil {
		return fmt.Errorf("writing the CA file: %w", err)
	}
	line := announcement{URL: "http://" + reachable(api) + "/client/api", Control: "http://" + reachable(control), Keys: map[string][2]string{},
		Upload: sim.UploadURL(), CAFile: ca}
	for name, k := range sim.Keys() {
		line.Keys[name] = [2]string{k.APIKey, k.SecretKey}
	}
	return json.NewEncoder(out).Encode(line)
}

// reachable is the address of a listener as a client on this host would write it.
func reachable(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return l.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// serve runs a server for each listener until ctx ends or one of them fails.
func serve(ctx context.Context, handlers map[net.Listener]http.Handler) error {
	failed := make(chan error, len(handlers))
	var servers []*http.Server
	for l, h := range handlers {
		s := &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second}
		servers = append(servers, s)
		go func() { failed <- s.Serve(l) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	for _, s := range servers {
		err = errors.Join(err, s.Close())
	}
	return err
}
