package main

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// chain measures the way of an image from a web server through all checks to another one: by the importer, which overlaps the steps,
// and by the same steps one after another with each tool.
func (b *bench) chain(ctx context.Context, in input) error {
	digest, err := sha512Of(in.path)
	if err != nil {
		return err
	}
	url, stop, err := serve(ctx, filepath.Dir(in.path))
	if err != nil {
		return err
	}
	defer stop()
	source := url + filepath.Base(in.path)
	steps := [][]string{self("import", source, digest, url, b.dir)}
	table := []series{{name: "capcat"}}
	for _, t := range b.tools {
		steps = append(steps, append(self("by-hand", source, digest, url, b.dir), t.stdout("-")...))
		table = append(table, series{name: "by hand, " + t.name})
	}
	for range b.rounds {
		for i := range steps {
			s, err := measure(ctx, steps[i], nil)
			if err != nil {
				return err
			}
			table[i].samples = append(table[i].samples, s)
		}
	}
	fmt.Fprintf(b.out, "\nwhole chain of %s: GET, SHA-512 of %s, decompress, SHA-256 of %s, PUT\n", in.name, amount(in.compressed), amount(in.size))
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  \tseconds\tprocessor seconds\tpeak MiB\twe are faster\tin processor time\tgoal")
	for i, s := range table {
		fmt.Fprintf(w, "  %s\t%v\t%v\t%.0f", s.name, s.figure(wall), s.figure(cpu), s.figure(peak).most)
		switch {
		case i == 0:
			fmt.Fprintf(w, "\t\t\tpeak under %d MiB\n", goalPeak)
		case b.tools[i-1].name == "bzip2":
			fmt.Fprintf(w, "\t%v times\t%v times\t%.1f, better 4\n", table[0].times(s, wall), table[0].times(s, cpu), goalChain)
		default:
			fmt.Fprintf(w, "\t%v times\t%v times\t\n", table[0].times(s, wall), table[0].times(s, cpu))
		}
	}
	return w.Flush()
}

// serve gives out the files of a folder and takes whatever is put, on this machine.
func serve(ctx context.Context, dir string) (url string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	files := http.FileServer(http.Dir(dir))
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			files.ServeHTTP(w, r)
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, "short", http.StatusBadRequest)
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	stop = func() {
		_ = server.Close()
		<-done
	}
	return "http://" + listener.Addr().String() + "/", stop, nil
}

func sha512Of(path string) (string, error) {
	h := sha512.New()
	err := withFile(path, func(file *os.File) error {
		_, err := io.Copy(h, file)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// put hands a file over, which it leaves open.
func put(ctx context.Context, url string, content io.Reader, size int64) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, url, io.NopCloser(content))
	if err != nil {
		return err
	}
	r.ContentLength = size
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New("put: " + answer.Status)
	}
	return nil
}
