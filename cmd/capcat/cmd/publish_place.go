package cmd

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/capcat/capcat/imagecatalog/publish"
)

// tokenEnv holds a bearer token for the place that is published to.
const tokenEnv = "CAPCAT_PUBLISH_TOKEN"

// placeFlags say how a server is reached. Credentials are read from files and the environment only: command lines are seen by
// everybody on the machine.
type placeFlags struct {
	headers, ca, s3Region string
	// token is for the place that is published to, and sent to no other.
	token string
	// redirects is how many are followed where a place is only read.
	redirects int
}

func (f *placeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.headers, "header-file", "", "file with lines \"Name: value\", sent with every request")
	flags.StringVar(&f.s3Region, "s3-region", "", "sign requests for S3, in this region, with $AWS_ACCESS_KEY_ID, $AWS_SECRET_ACCESS_KEY and $AWS_SESSION_TOKEN")
	flags.StringVar(&f.ca, "ca-file", "", "file with the certificates that vouch for the server, besides those of the system")
}

// open takes the address of a server, or the path of a folder.
func (f *placeFlags) open(place string, folder func(string) (*publish.Folder, error)) (publish.Place, error) {
	if path, local := localPath(place); local {
		return folder(path)
	}
	o := publish.BucketOptions{URL: strings.TrimSuffix(place, "/"), Redirects: f.redirects}
	var err error
	if o.Header, err = f.header(); err != nil {
		return nil, err
	}
	if o.Keys, err = f.keys(); err != nil {
		return nil, err
	}
	if f.ca != "" {
		if o.Transport, err = transportTrusting(f.ca); err != nil {
			return nil, err
		}
	}
	return publish.NewBucket(o)
}

// header reads the lines of the file and the token.
func (f *placeFlags) header() (http.Header, error) {
	header := http.Header{}
	if f.token != "" {
		header.Set("Authorization", "Bearer "+strings.TrimSpace(f.token))
	}
	if f.headers == "" {
		return header, nil
	}
	file, err := os.Open(f.headers)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if !found || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("%s: a line is not of the form \"Name: value\"", f.headers)
		}
		header.Set(textproto.CanonicalMIMEHeaderKey(name), strings.TrimSpace(value))
	}
	return header, nil
}

// keys reads the credentials of S3 from where its tools read them.
func (f *placeFlags) keys() (*publish.Keys, error) {
	if f.s3Region == "" {
		return nil, nil
	}
	k := &publish.Keys{ID: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY"), Session: os.Getenv("AWS_SESSION_TOKEN"), Region: f.s3Region}
	if k.ID == "" || k.Secret == "" {
		return nil, errors.New("--s3-region needs $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY")
	}
	return k, nil
}

// transportTrusting trusts the certificates of a file too.
func transportTrusting(name string) (http.RoundTripper, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", name)
	}
	t := publish.NewTransport()
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return t, nil
}
