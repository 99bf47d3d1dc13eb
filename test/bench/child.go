package main

import (
	"bufio"
	stdbzip2 "compress/bzip2"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/capcat/capcat/imagecatalog/artifact/bzip2"
)

// childMark as the first argument makes this program do a task in a process that is measured.
const childMark = "-as-child"

// child does a task: its name and what it needs.
func child(ctx context.Context, args []string, out io.Writer) error {
	tasks := map[string]struct {
		args int
		do   func(context.Context, []string, io.Writer) error
	}{
		"make":       {4, childMake},
		"decode":     {2, childDecode},
		"decode-std": {1, childDecodeStd},
		"import":     {4, childImport},
		"by-hand":    {4, childByHand},
	}
	if len(args) == 0 || tasks[args[0]].do == nil || len(args) < 1+tasks[args[0]].args {
		return fmt.Errorf("not a task: %q", args)
	}
	return tasks[args[0]].do(ctx, args[1:], out)
}

func childMake(ctx context.Context, args []string, _ io.Writer) error {
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	sizes, err := makeInput(ctx, args[0], size, args[2])
	if err != nil {
		return err
	}
	note, err := json.Marshal(sizes)
	if err != nil {
		return err
	}
	return os.WriteFile(args[3], note, 0o644)
}

func childDecode(_ context.Context, args []string, out io.Writer) error {
	workers, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return withFile(args[1], func(file *os.File) error {
		z := bzip2.NewReader(file, bzip2.Options{Workers: workers})
		_, err := z.WriteTo(out)
		return errors.Join(err, z.Close())
	})
}

func childDecodeStd(_ context.Context, args []string, out io.Writer) error {
	return withFile(args[0], func(file *os.File) error {
		_, err := io.Copy(out, stdbzip2.NewReader(bufio.NewReaderSize(file, 1<<20)))
		return err
	})
}

func withFile(path string, do func(*os.File) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(do(file), file.Close())
}
