package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"aead.dev/minisign"

	"github.com/capcat/capcat/imagecatalog/index"
)

const maxSignature = 64 << 10

// history is the index and its revisions. A revision is first written whole, with its signature in front, under a name of
// its own that nobody writes twice, and then copied to index.json and index.json.minisig. The first decides which of two that
// publish at once comes first; and whoever comes after a run that was cut between the copies finds the newest revision.
type history struct {
	place   Place
	trusted []minisign.PublicKey
}

// revision is an index that was proven.
type revision struct {
	index           index.Index
	data, signature []byte
}

func revisionName(n int64) string { return fmt.Sprintf("index.%d.json.signed", n) }

// signatureLines is how many lines a signature has.
const signatureLines = 4

// ErrUntrusted says that the index which is there cannot be proven.
var ErrUntrusted = errors.New("the index that is there is not signed by a key that is trusted")

// newest finds the newest revision: the one in index.json, or one after it that was not copied yet. The zero revision when
// nothing was ever published.
func (h history) newest(ctx context.Context) (revision, error) {
	current, err := h.installed(ctx)
	if err != nil {
		return revision{}, err
	}
	for {
		next, err := h.numbered(ctx, current.index.Revision+1)
		if errors.Is(err, ErrMissing) {
			return current, nil
		}
		if err != nil {
			return revision{}, err
		}
		current = next
	}
}

// installed reads index.json. Its signature may be that of another revision when a run was cut in between; then the file of
// its own revision proves it.
func (h history) installed(ctx context.Context) (revision, error) {
	data, _, err := h.place.Read(ctx, index.Name, index.MaxBytes)
	if errors.Is(err, ErrMissing) {
		return revision{}, nil
	}
	if err != nil {
		return revision{}, err
	}
	signature, _, err := h.place.Read(ctx, index.Name+index.SignatureSuffix, maxSignature)
	if err != nil && !errors.Is(err, ErrMissing) {
		return revision{}, err
	}
	r, err := h.prove(data, signature)
	if err == nil || !errors.Is(err, ErrUntrusted) {
		return r, err
	}
	claimed, parseErr := index.Parse(data)
	if parseErr != nil {
		return revision{}, err
	}
	if r, numberedErr := h.numbered(ctx, claimed.Revision); numberedErr == nil && bytes.Equal(r.data, data) {
		return r, nil
	}
	return revision{}, err
}

// numbered reads a revision by its number.
func (h history) numbered(ctx context.Context, n int64) (revision, error) {
	name := revisionName(n)
	both, _, err := h.place.Read(ctx, name, index.MaxBytes+maxSignature)
	if err != nil {
		return revision{}, err
	}
	end := 0
	for range signatureLines {
		next := bytes.IndexByte(both[end:], '\n')
		if next < 0 {
			return revision{}, fmt.Errorf("%s: %w", name, ErrUntrusted)
		}
		end += next + 1
	}
	r, err := h.prove(both[end:], both[:end])
	if err == nil && r.index.Revision != n {
		err = fmt.Errorf("%w: it is revision %d", ErrUntrusted, r.index.Revision)
	}
	if err != nil {
		return revision{}, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// prove checks the bytes of an index with a signature.
func (h history) prove(data, signature []byte) (revision, error) {
	var faults []error
	for _, key := range h.trusted {
		if _, err := index.Verify(key, data, signature); err != nil {
			faults = append(faults, err)
			continue
		}
		x, err := index.ParseStrict(data)
		if err != nil {
			return revision{}, err
		}
		return revision{index: x, data: data, signature: signature}, nil
	}
	return revision{}, fmt.Errorf("%w: %w", ErrUntrusted, errors.Join(faults...))
}

// add writes a new revision. ErrExists when somebody else has written one of this number.
func (h history) add(ctx context.Context, x index.Index, key minisign.PrivateKey, now time.Time) (revision, error) {
	data, err := x.Encode()
	if err != nil {
		return revision{}, err
	}
	signature, err := index.Sign(key, data, now)
	if err != nil {
		return revision{}, err
	}
	r, err := h.prove(data, signature)
	if err != nil {
		return revision{}, fmt.Errorf("the secret key is damaged: %w", err)
	}
	return r, h.place.Create(ctx, revisionName(x.Revision), bytesObject(slices.Concat(signature, data)))
}

// install copies a revision to the names that everybody reads, unless they hold it or a newer one.
func (h history) install(ctx context.Context, r revision) error {
	if r.data == nil {
		return nil
	}
	have, tag, err := h.place.Read(ctx, index.Name, index.MaxBytes)
	if err != nil && !errors.Is(err, ErrMissing) {
		return err
	}
	if there, err := index.Parse(have); err == nil && there.Revision > r.index.Revision {
		return fmt.Errorf("%s: %w", index.Name, ErrChanged)
	}
	copied, err := h.copySignature(ctx, r.signature)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, r.data) {
		copied = true
		if err := h.place.Replace(ctx, index.Name, r.data, tag); err != nil {
			return err
		}
	}
	if !copied {
		return nil
	}
	return h.unchanged(ctx, r)
}

// copySignature writes the signature unless it is there.
func (h history) copySignature(ctx context.Context, signature []byte) (copied bool, err error) {
	const name = index.Name + index.SignatureSuffix
	have, tag, err := h.place.Read(ctx, name, maxSignature)
	if err != nil && !errors.Is(err, ErrMissing) {
		return false, err
	}
	if err == nil && bytes.Equal(have, signature) {
		return false, nil
	}
	return true, h.place.Replace(ctx, name, signature, tag)
}

// unchanged makes sure that both files are of this revision still. Two that write at once may leave the index of one and the signature
// of the other; whoever writes last sees it here, and has to install the newest.
func (h history) unchanged(ctx context.Context, r revision) error {
	for _, file := range []struct {
		name string
		want []byte
	}{{index.Name, r.data}, {index.Name + index.SignatureSuffix, r.signature}} {
		have, _, err := h.place.Read(ctx, file.name, index.MaxBytes)
		if err != nil {
			return err
		}
		if !bytes.Equal(have, file.want) {
			return fmt.Errorf("%s: %w", file.name, ErrChanged)
		}
	}
	return nil
}
