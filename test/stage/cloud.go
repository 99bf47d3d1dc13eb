package stage

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capcat/capcat/test/process"
)

// Cloud is a running simulator.
type Cloud struct {
	introduction
	// Process is the simulator's.
	Process *process.Process
}

// introduction is the line of JSON that the simulator prints.
type introduction struct {
	// URL of the CloudStack API.
	URL string `json:"url"`
	// Control is the URL of the simulator's own endpoint.
	Control string `json:"control"`
	// Keys are the API key and the secret key of each caller.
	Keys map[string][]string `json:"keys"`
	// CAFile vouches for the storage that takes uploads.
	CAFile string `json:"caFile"`
}

// CloudOptions say what simulator to run.
type CloudOptions struct {
	// Program is the path of cloudsim.
	Program string
	// Dir is where its log goes.
	Dir string
	// Preset is what the cloud has at the start; default: demo.
	Preset string
	// Resolve has the names that count as public, with the local addresses that they are dialled at.
	Resolve map[string]string
	// Args are added at the end.
	Args []string
}

// StartCloud runs the simulator on free loopback ports.
func StartCloud(ctx context.Context, o CloudOptions) (*Cloud, error) {
	upload, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	args := []string{"--listen", "127.0.0.1:0", "--preset", cmp.Or(o.Preset, "demo"), "--upload-address", upload}
	for name, addr := range o.Resolve {
		args = append(args, "--resolve", name+"="+addr)
	}
	args = append(args, o.Args...)
	c := &Cloud{}
	log := filepath.Join(o.Dir, "cloudsim.log")
	c.Process, err = process.Start(ctx, process.Spec{
		Name: "cloudsim", Path: o.Program, Args: args, Log: log,
		Ready: func(context.Context) error { return c.read(log) },
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Set changes a setting of the simulated CloudStack. Some take effect after Restart.
func (c *Cloud) Set(ctx context.Context, name, value string) error {
	body, err := json.Marshal(map[string]string{"name": name, "value": value})
	if err != nil {
		return err
	}
	if err := c.control(ctx, "settings", body); err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	return nil
}

// Restart ends the simulated management server and starts it again: it reads its settings, and its open jobs fail.
func (c *Cloud) Restart(ctx context.Context) error {
	if err := c.control(ctx, "restart", nil); err != nil {
		return fmt.Errorf("restarting CloudStack: %w", err)
	}
	return nil
}

func (c *Cloud) control(ctx context.Context, what string, body []byte) error {
	return ask(ctx, http.MethodPost, c.Control+"/"+what, bytes.NewReader(body))
}

// read finds the introduction in what the simulator has printed so far.
func (i *introduction) read(log string) error {
	f, err := os.Open(log)
	if err != nil {
		return err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if json.Unmarshal(s.Bytes(), i) == nil && i.URL != "" {
			return nil
		}
	}
	return errors.New("it has not said where it listens")
}

// Secret holds the keys of a caller as a catalog expects them.
func (c *Cloud) Secret(caller, namespace, name string) (*corev1.Secret, error) {
	keys := c.Keys[caller]
	if len(keys) != 2 {
		return nil, fmt.Errorf("the simulator has no caller %q", caller)
	}
	data := map[string]string{"api-url": c.URL, "api-key": keys[0], "secret-key": keys[1]}
	if c.CAFile != "" {
		ca, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate of the simulated storage: %w", err)
		}
		data["ca-cert"] = string(ca)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data}, nil
}

// FreeAddr gives a loopback address with a port that nobody has now.
func FreeAddr() (string, error) {
	port, err := process.FreePort()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}
