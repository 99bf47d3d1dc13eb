package imagecatalog

import (
	"encoding/hex"
	"errors"
	"fmt"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// digestLength is the number of hex digits of an algorithm, 0 when it is unknown.
func digestLength(a infrav1.ChecksumAlgorithm) int {
	switch a {
	case "md5":
		return 32
	case "sha1":
		return 40
	case "sha224":
		return 56
	case "sha256":
		return 64
	case "sha384":
		return 96
	case "sha512":
		return 128
	}
	return 0
}

// checkChecksum repeats the rules of the schema for catalogs that no API server has seen.
func checkChecksum(sum *infrav1.Checksum) error {
	ways := 0
	for _, given := range []bool{sum.Value != "", sum.URL != "", sum.InsecureSkip} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("give exactly one of value (with algorithm), url, or insecureSkip: true")
	case sum.Algorithm == "" && sum.Value != "":
		return errors.New("value needs its algorithm, such as algorithm: sha256")
	case sum.Algorithm != "" && sum.InsecureSkip:
		return errors.New("algorithm belongs to a value or to a checksum file at url")
	case sum.Algorithm == "":
		return nil
	case digestLength(sum.Algorithm) == 0:
		return fmt.Errorf("unknown algorithm %q", sum.Algorithm)
	case (sum.Algorithm == "md5" || sum.Algorithm == "sha1") && !sum.AllowWeak:
		return errors.New("md5 and sha1 are weak: use sha256, or set allowWeak: true")
	}
	return checkDigest(sum)
}

func checkDigest(sum *infrav1.Checksum) error {
	if sum.Value == "" {
		return nil
	}
	if _, err := hex.DecodeString(sum.Value); err != nil || len(sum.Value) != digestLength(sum.Algorithm) {
		return fmt.Errorf("a value of %s has %d hex digits", sum.Algorithm, digestLength(sum.Algorithm))
	}
	return nil
}

// describeChecksum names the value an error is about.
func describeChecksum(sum *infrav1.Checksum) string {
	switch {
	case sum.Value != "":
		return string(sum.Algorithm) + ":" + sum.Value
	case sum.URL != "":
		return sum.URL
	}
	return string(sum.Algorithm)
}
