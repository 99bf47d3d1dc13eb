package cmd

import (
	"crypto/rand"
	_ "embed" // the help of key
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

//go:embed key.md
var keyHelp string

// passwordEnv holds the password of a secret key.
const passwordEnv = "CAPCAT_KEY_PASSWORD"

func newKey(stdout, stderr io.Writer) *cobra.Command {
	c := &cobra.Command{Use: "key", Short: "Make the keys that sign an index", Long: keyHelp}
	c.AddCommand(newKeyGenerate(stdout, stderr))
	return c
}

// keyFlags are the flags of key generate as they were typed.
type keyFlags struct {
	password string
	plain    bool
}

func newKeyGenerate(stdout, stderr io.Writer) *cobra.Command {
	var f keyFlags
	c := &cobra.Command{
		Use:   "generate NAME",
		Short: "Write a new secret key to NAME.key and its public key to NAME.pub",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args[0], passwordFrom(f.password, c.InOrStdin(), stderr), stdout)
		},
	}
	c.Flags().StringVar(&f.password, "password-file", "", "file with the password (default: $"+passwordEnv+", else asked for)")
	c.Flags().BoolVar(&f.plain, "no-password", false, "do not encrypt the secret key: whoever reads the file can sign")
	return c
}

func (f *keyFlags) run(name string, password func() (string, error), stdout io.Writer) error {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	secret, err := f.encode(private, password)
	if err != nil {
		return err
	}
	text, err := public.MarshalText()
	if err != nil {
		return fmt.Errorf("writing the public key: %w", err)
	}
	if err := writeNew(name+".key", append(secret, '\n'), 0o600); err != nil {
		return err
	}
	if err := writeNew(name+".pub", append(text, '\n'), 0o644); err != nil {
		return errors.Join(err, os.Remove(name+".key"))
	}
	fmt.Fprintf(stdout, "secret key: %s.key\npublic key: %s.pub\n%s\n", name, name, public)
	return nil
}

func (f *keyFlags) encode(key minisign.PrivateKey, password func() (string, error)) ([]byte, error) {
	if f.plain {
		return key.MarshalText()
	}
	secret, err := password()
	if err != nil {
		return nil, err
	}
	if secret == "" {
		return nil, errors.New("the password is empty; --no-password makes a key without one")
	}
	return minisign.EncryptKey(secret, key)
}

// writeNew writes a file that must not exist.
func writeNew(name string, data []byte, mode os.FileMode) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// passwordFrom reads the password from a file, the environment or the terminal, when it is asked for.
func passwordFrom(file string, stdin io.Reader, stderr io.Writer) func() (string, error) {
	return func() (string, error) {
		if file != "" {
			text, err := os.ReadFile(filepath.Clean(file))
			line, _, _ := strings.Cut(string(text), "\n")
			return strings.TrimSuffix(line, "\r"), err
		}
		if secret, set := os.LookupEnv(passwordEnv); set {
			return secret, nil
		}
		in, isFile := stdin.(*os.File)
		if !isFile || !term.IsTerminal(int(in.Fd())) {
			return "", errors.New("the key needs a password, and there is no terminal to ask on: set $" + passwordEnv + " or --password-file")
		}
		fmt.Fprint(stderr, "password of the key: ")
		secret, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(stderr)
		return string(secret), err
	}
}
