package publish

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"aead.dev/minisign"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/index"
)

// Verified is an index that was proven.
type Verified struct {
	// Index is the list.
	Index index.Index
	// TrustedComment is what the signature also vouches for: when it was made.
	TrustedComment string
	// Files were read and have the digests of the index.
	Files []string
}

// ErrFile says that a file is not what the index says.
var ErrFile = errors.New("a file is not what the index says")

// Verify reads index.json of a place and proves it by its signature, which has to be of one of the keys. With files it also
// reads every file that the index has relative to itself, and compares its digest. Report, which may be nil, is told what is
// begun.
func Verify(ctx context.Context, place Place, keys []minisign.PublicKey, files bool, report func(Event)) (Verified, error) {
	if report == nil {
		report = func(Event) {}
	}
	data, _, err := place.Read(ctx, index.Name, index.MaxBytes)
	if err != nil {
		return Verified{}, err
	}
	signature, _, err := place.Read(ctx, index.Name+index.SignatureSuffix, maxSignature)
	if err != nil {
		return Verified{}, err
	}
	v := Verified{}
	if v.TrustedComment, err = verifyAny(keys, data, signature); err != nil {
		return Verified{}, err
	}
	if v.Index, err = index.Parse(data); err != nil || !files {
		return v, err
	}
	var faults []error
	for _, i := range v.Index.Images {
		name, relative := localName(i.URLs)
		if !relative {
			continue
		}
		report(Event{Doing: "reading " + name})
		if err := verifyFile(ctx, place, name, i); err != nil {
			faults = append(faults, err)
			continue
		}
		v.Files = append(v.Files, name)
	}
	return v, errors.Join(faults...)
}

func verifyAny(keys []minisign.PublicKey, data, signature []byte) (string, error) {
	var faults []error
	for _, key := range keys {
		comment, err := index.Verify(key, data, signature)
		if err == nil {
			return comment, nil
		}
		faults = append(faults, err)
	}
	return "", errors.Join(faults...)
}

// localName is the first address that is the name of a file beside the index.
func localName(addresses []string) (string, bool) {
	for _, a := range addresses {
		if name, err := url.PathUnescape(a); err == nil && !strings.Contains(name, "/") {
			return name, true
		}
	}
	return "", false
}

func verifyFile(ctx context.Context, place Place, name string, i index.Image) error {
	d, err := place.Digest(ctx, name)
	if err != nil {
		return err
	}
	if want := i.Digests[artifact.SHA256]; d.Hex != want {
		return fmt.Errorf("%s: %w: it has the digest %s, not sha256:%s", name, ErrFile, d, want)
	}
	return nil
}
