package cloudstack

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Config is what a session is made of. Two configs with the same Key must be equal in everything.
type Config struct {
	// UID identifies where the credentials come from, usually the UID of a Secret.
	UID string
	// Revision changes with every change of the credentials, usually the resourceVersion of the Secret.
	Revision string
	// URL is the API endpoint, such as https://cloud.example.org/client/api; http or https, no query.
	URL string
	// APIKey and SecretKey are the credentials of a CloudStack user.
	APIKey, SecretKey string
	// CABundle holds PEM certificates that are trusted beside the system's; may be empty.
	CABundle []byte
	// InsecureSkipVerify turns off the verification of the server's certificate.
	InsecureSkipVerify bool
}

// String names the endpoint and no secret.
func (c Config) String() string { return redactURL(c.URL) }

// GoString is String, so that no formatting verb shows a secret.
func (c Config) GoString() string { return c.String() }

// Validate tells what is missing or malformed, without repeating any value that may be secret.
func (c Config) Validate() error {
	var errs []error
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		errs = append(errs, errors.New("the API URL is empty"))
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		errs = append(errs, errors.New("the API URL is not a complete http or https URL"))
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		errs = append(errs, errors.New("the API URL must have no user, query or fragment"))
	}
	for name, value := range map[string]string{"API key": c.APIKey, "secret key": c.SecretKey} {
		switch {
		case value == "":
			errs = append(errs, fmt.Errorf("the %s is empty", name))
		case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			errs = append(errs, fmt.Errorf("the %s contains blanks or control characters", name))
		}
	}
	if _, err := c.TLS(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// TLS gives the TLS settings for the endpoint and for everything else of the same cloud, such as upload addresses.
// An error means that CABundle holds no certificate.
func (c Config) TLS() (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.InsecureSkipVerify}
	if len(c.CABundle) == 0 {
		return settings, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(c.CABundle) {
		return nil, errors.New("the CA bundle holds no PEM certificate")
	}
	settings.RootCAs = pool
	return settings, nil
}
