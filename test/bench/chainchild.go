package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/fetch"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
	"github.com/capcat/capcat/imagecatalog/importer"
)

// childImport takes the chain as the product does. It gets the source, its SHA-512, where to put the content, and a folder.
func childImport(ctx context.Context, args []string, _ io.Writer) (err error) {
	dir, err := os.MkdirTemp(args[3], "store-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	digest, err := artifact.NewDigest(artifact.SHA512, args[1])
	if err != nil {
		return err
	}
	blobs, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	i, err := importer.New(importer.Options{Store: blobs, Fetcher: fetch.New(fetch.Options{AllowLoopback: true})})
	if err != nil {
		return err
	}
	result, err := i.Import(ctx, importer.Spec{URLs: []string{args[0]}, Checksum: importer.Checksum{Digest: &digest}}, nil)
	if err != nil {
		return err
	}
	content, size, err := i.OpenContent(result.ContentDigest)
	if err != nil {
		return err
	}
	return errors.Join(put(ctx, args[2]+"upload", content, size), content.Close())
}

// childByHand takes the chain step by step. After what childImport gets it gets the command that decompresses a file "-".
func childByHand(ctx context.Context, args []string, _ io.Writer) (err error) {
	dir, err := os.MkdirTemp(args[3], "hand-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	compressed, plain := filepath.Join(dir, "image.bz2"), filepath.Join(dir, "image")
	if err := get(ctx, args[0], compressed); err != nil {
		return err
	}
	sum, err := sha512Of(compressed)
	if err != nil {
		return err
	}
	if sum != args[1] {
		return fmt.Errorf("the file has the digest %s", sum)
	}
	command := append([]string{}, args[4:]...)
	command[len(command)-1] = compressed
	if err := toFile(plain, func(out io.Writer) error {
		_, err := measure(ctx, command, out)
		return err
	}); err != nil {
		return err
	}
	return withFile(plain, func(file *os.File) error {
		size, err := io.Copy(sha256.New(), file)
		if err != nil {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return put(ctx, args[2]+"upload", file, size)
	})
}

// get downloads to a file.
func get(ctx context.Context, url, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	err = toFile(path, func(out io.Writer) error {
		_, err := io.Copy(out, answer.Body)
		return err
	})
	return errors.Join(err, answer.Body.Close())
}

func toFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
