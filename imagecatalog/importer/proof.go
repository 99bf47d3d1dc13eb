package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/checksum"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
)

// proof is what the downloaded bytes must be.
type proof struct {
	// expect is empty for an unproven source.
	expect []artifact.Digest
	weak   bool
	// key names the source in the store. A strong digest is the source, wherever it comes from; anything else is bound
	// to its addresses.
	key string
}

// prove finds out the digest, from the spec or from its side file.
func (i *Importer) prove(ctx context.Context, spec Spec) (proof, error) {
	if err := spec.Checksum.check(); err != nil {
		return proof{}, err
	}
	if spec.Checksum.InsecureSkip {
		return proof{weak: true, key: store.Key(append([]string{"unproven"}, spec.URLs...)...)}, nil
	}
	var d artifact.Digest
	var err error
	if spec.Checksum.Digest != nil {
		d, err = artifact.NewDigest(spec.Checksum.Digest.Algorithm, spec.Checksum.Digest.Hex)
	} else {
		d, err = i.sideDigest(ctx, spec)
	}
	if err == nil {
		err = checksum.CheckStrength(d, spec.Checksum.AllowWeak)
	}
	if err != nil {
		return proof{}, err
	}
	p := proof{expect: []artifact.Digest{d}, weak: d.Algorithm.Weak(), key: store.Key("digest", d.String())}
	if p.weak {
		p.key = store.Key(append([]string{"weak", d.String()}, spec.URLs...)...)
	}
	return p, nil
}

// check refuses a checksum that says nothing, or two things.
func (c Checksum) check() error {
	said := 0
	for _, is := range []bool{c.Digest != nil, c.URL != "", c.InsecureSkip} {
		if is {
			said++
		}
	}
	switch said {
	case 1:
		return nil
	case 0:
		return artifact.NewError(artifact.NoChecksum, "the image has no checksum; give one, or skip it explicitly")
	default:
		return artifact.NewError(artifact.BadChecksumForm, "a checksum is one of a digest, an address or an explicit skip")
	}
}

// sideDigest reads the side file, or remembers what it said lately.
func (i *Importer) sideDigest(ctx context.Context, spec Spec) (artifact.Digest, error) {
	key := store.Key(append([]string{"sidefile", spec.Checksum.URL, string(spec.Checksum.Algorithm)}, spec.URLs...)...)
	claim, err := i.opts.Store.Claim(ctx, key)
	if err != nil {
		return artifact.Digest{}, err
	}
	d, err := i.claimedSideDigest(ctx, claim, spec)
	return d, errors.Join(err, claim.Release())
}

func (i *Importer) claimedSideDigest(ctx context.Context, claim *store.Claim, spec Spec) (artifact.Digest, error) {
	var d artifact.Digest
	if rec, err := claim.Record(); err == nil && i.fresh(rec) && json.Unmarshal(rec.Data, &d) == nil {
		if known, err := artifact.NewDigest(d.Algorithm, d.Hex); err == nil {
			return known, nil
		}
	}
	data, err := i.opts.Fetcher.Small(ctx, spec.Checksum.URL, checksum.MaxBytes)
	if err != nil {
		return d, sideFileError(err)
	}
	return findEntry(data, spec)
}

// sideFileError gives failures of the fetcher the code that they have for a side file.
func sideFileError(err error) error {
	switch artifact.CodeOf(err) {
	case artifact.NotAnImage, artifact.TooLarge:
		return artifact.WrapError(artifact.NotAChecksumFile, "reading the checksum file", err)
	default:
		return fmt.Errorf("reading the checksum file: %w", err)
	}
}

// findEntry looks for the name of each mirror in turn, since mirrors may rename.
func findEntry(data []byte, spec Spec) (d artifact.Digest, err error) {
	err = artifact.NewError(artifact.NoEntry, "no address of the image ends in a file name")
	for _, u := range spec.URLs {
		name := fetch.BaseName(u)
		if name == "" {
			continue
		}
		d, err = checksum.ParseSideFile(bytes.NewReader(data), name, spec.Checksum.Algorithm)
		if artifact.CodeOf(err) != artifact.NoEntry {
			return d, err
		}
	}
	return d, err
}

// remember notes what the side file said, once the bytes were found to match it.
func (i *Importer) remember(ctx context.Context, spec Spec, res Result, d artifact.Digest) error {
	key := store.Key(append([]string{"sidefile", spec.Checksum.URL, string(spec.Checksum.Algorithm)}, spec.URLs...)...)
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("remembering the side file: %w", err)
	}
	claim, err := i.opts.Store.Claim(ctx, key)
	if err != nil {
		return err
	}
	err = claim.Save(store.Record{Download: res.DownloadDigest, Content: res.ContentDigest, SavedAt: i.opts.Clock.Now(), Data: data})
	return errors.Join(err, claim.Release())
}

// fresh says whether a record of something that may change is young enough to be believed.
func (i *Importer) fresh(rec store.Record) bool {
	age := i.opts.Clock.Since(rec.SavedAt)
	return age >= 0 && age < i.opts.TrustFor
}
