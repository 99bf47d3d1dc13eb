package main

import (
	"crypto/x509"
	"fmt"
	"os"
)

// rootCAs are the authorities of the system and those of --fetch-ca-file; nil, which means the system's, without the flag.
func (p pipelineOptions) rootCAs() (*x509.CertPool, error) {
	if p.caFile == "" {
		return nil, nil
	}
	certificates, err := os.ReadFile(p.caFile)
	if err != nil {
		return nil, fmt.Errorf("--fetch-ca-file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authorities of the system: %w", err)
	}
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, fmt.Errorf("--fetch-ca-file: %s has no certificate in PEM form", p.caFile)
	}
	return pool, nil
}
