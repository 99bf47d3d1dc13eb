package checksum

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	h256  = "f143656cf2ec72b13f5a3b179db3a066c9b4d8ff8a0723a435f027c671fb3060"
	h256b = "085d64d869631f6f124f036554fa2c7d273a80d19de3f961e3748543dc9ef113"
	hmd5  = "e7b44751c7fe9449c4e6b3bdfdf0609a"
	hsha1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
)

var h512 = strings.Repeat("0123456789abcdef", 8)

func TestParseSideFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, name string
		alg        artifact.Algorithm
		want       string
		code       artifact.Code
	}{
		"gnu text":                          {text: h256 + "  a.qcow2\n", name: "a.qcow2", want: "sha256:" + h256},
		"gnu binary":                        {text: h256 + " *a.qcow2\n", name: "a.qcow2", want: "sha256:" + h256},
		"gnu without line end":              {text: h256 + "  a.qcow2", name: "a.qcow2", want: "sha256:" + h256},
		"gnu with CR LF":                    {text: h256 + "  a.qcow2\r\n", name: "a.qcow2", want: "sha256:" + h256},
		"one blank only":                    {text: h256 + " a.qcow2\n", name: "a.qcow2", want: "sha256:" + h256},
		"a tab":                             {text: h256 + "\ta.qcow2\n", name: "a.qcow2", want: "sha256:" + h256},
		"byte order mark":                   {text: "\ufeff" + h256 + "  a.qcow2\n", name: "a.qcow2", want: "sha256:" + h256},
		"name with a blank":                 {text: h256 + "  my image.qcow2\n", name: "my image.qcow2", want: "sha256:" + h256},
		"name in a directory":               {text: h256 + "  ./out/a.qcow2\n", name: "a.qcow2", want: "sha256:" + h256},
		"name in a Windows directory":       {text: h256 + "  C:\\out\\a.qcow2\n", name: "a.qcow2", want: "sha256:" + h256},
		"exact name before a path":          {text: h256b + "  old/a\n" + h256 + "  a\n", name: "a", want: "sha256:" + h256},
		"escaped name":                      {text: `\` + h256 + `  a\\b\nc` + "\n", name: "b\nc", want: "sha256:" + h256},
		"escaped line end in name":          {text: `\` + h256 + `  a\nb` + "\n", name: "a\nb", want: "sha256:" + h256},
		"bad escape":                        {text: `\` + h256 + `  a\x` + "\n", name: "a", code: artifact.NotAChecksumFile},
		"bsd":                               {text: "SHA256 (a.qcow2) = " + h256 + "\n", name: "a.qcow2", want: "sha256:" + h256},
		"bsd name with parentheses":         {text: "SHA256 (a (1).qcow2) = " + h256 + "\n", name: "a (1).qcow2", want: "sha256:" + h256},
		"openssl 1":                         {text: "SHA256(a.qcow2)= " + h256 + "\n", name: "a.qcow2", want: "sha256:" + h256},
		"openssl 3":                         {text: "SHA2-256(a.qcow2)= " + h256 + "\n", name: "a.qcow2", want: "sha256:" + h256},
		"openssl of stdin":                  {text: "(stdin)= " + h256 + "\n", name: "a.qcow2", want: "sha256:" + h256},
		"openssl sha3 is another algorithm": {text: "SHA3-256(a)= " + h256 + "\n", name: "a", code: artifact.NotAChecksumFile},
		"blake2 is another algorithm":       {text: "BLAKE2b (a) = " + h512 + "\n", name: "a", code: artifact.NotAChecksumFile},
		"tag and length differ":             {text: "SHA512 (a) = " + h256 + "\n", name: "a", code: artifact.NotAChecksumFile},
		"bare":                              {text: h256 + "\n", name: "a", want: "sha256:" + h256},
		"bare with its algorithm":           {text: "sha256:" + h256 + "\n", name: "a", want: "sha256:" + h256},
		"algorithm, digest and name":        {text: "sha256:" + h256 + "  a:b\n", name: "a:b", want: "sha256:" + h256},
		"name with a colon":                 {text: h256 + "  a:b\n", name: "a:b", want: "sha256:" + h256},
		"algorithm of another length":       {text: "sha512:" + h256 + "\n", name: "a", code: artifact.NotAChecksumFile},
		"algorithm twice":                   {text: "sha256:sha256:" + h256 + "\n", name: "a", code: artifact.NotAChecksumFile},
		"bare without line end":             {text: h512, name: "a", want: "sha512:" + h512},
		"bare with blanks":                  {text: "\n  " + h256 + "  \n\n", name: "a", want: "sha256:" + h256},
		"of standard input":                 {text: h256 + "  -\n", name: "a", want: "sha256:" + h256},
		"upper case":                        {text: strings.ToUpper(h256) + "  a\n", name: "a", want: "sha256:" + h256},
		"weak is read, not judged":          {text: hmd5 + "  a\n", name: "a", want: "md5:" + hmd5},
		"list":                              {text: h256b + "  b\n# comment\n\n" + h256 + "  a\n", name: "a", want: "sha256:" + h256},
		"list of several algorithms":        {text: "MD5 (a) = " + hmd5 + "\nSHA512 (a) = " + h512 + "\nSHA256 (a) = " + h256 + "\n", name: "a", want: "sha512:" + h512},
		"algorithm asked for":               {text: "MD5 (a) = " + hmd5 + "\nSHA256 (a) = " + h256 + "\n", name: "a", alg: artifact.MD5, want: "md5:" + hmd5},
		"algorithm asked for is not there":  {text: h256 + "  a\n", name: "a", alg: artifact.SHA512, code: artifact.NotAChecksumFile},
		"the same entry twice":              {text: h256 + "  a\n" + h256 + "  a\n", name: "a", want: "sha256:" + h256},
		"two different entries":             {text: h256 + "  a\n" + h256b + "  a\n", name: "a", code: artifact.NotAChecksumFile},
		"two different bare digests":        {text: h256 + "\n" + h256b + "\n", name: "a", code: artifact.NotAChecksumFile},
		"two paths with one name":           {text: h256 + "  x/a\n" + h256b + "  y/a\n", name: "a", code: artifact.NotAChecksumFile},
		"another name":                      {text: h256 + "  b\n", name: "a", code: artifact.NoEntry},
		"a longer name":                     {text: h256 + "  a.bz2\n", name: "a", code: artifact.NoEntry},
		"signed list": {
			text: "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n- " + h256 + "  a\n-----BEGIN PGP SIGNATURE-----\n\niQ==\n" + h256b + "  a\n-----END PGP SIGNATURE-----\n",
			name: "a", want: "sha256:" + h256,
		},
		"html":             {text: "<!DOCTYPE html><title>" + h256 + "</title>\n" + h256 + "  a\n", name: "a", code: artifact.NotAChecksumFile},
		"html after a BOM": {text: "\ufeff\n <html>\n" + h256 + "  a\n", name: "a", code: artifact.NotAChecksumFile},
		"xml":              {text: "<?xml version=\"1.0\"?><Error/>", name: "a", code: artifact.NotAChecksumFile},
		"json":             {text: `{"error": "not found"}`, name: "a", code: artifact.NotAChecksumFile},
		"prose":            {text: "404: Not Found", name: "a", code: artifact.NotAChecksumFile},
		"empty":            {text: "", name: "a", code: artifact.NotAChecksumFile},
		"binary":           {text: h256 + "  a\n\x00\xff", name: "a", code: artifact.NotAChecksumFile},
		"one digit short":  {text: h256[1:] + "  a\n", name: "a", code: artifact.NotAChecksumFile},
		"too large":        {text: h256 + "  a\n" + strings.Repeat("#\n", MaxBytes/2), name: "a", code: artifact.NotAChecksumFile},
		"sha1":             {text: hsha1 + "  a\n", name: "a", want: "sha1:" + hsha1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseSideFile(strings.NewReader(tc.text), tc.name, tc.alg)
			if artifact.CodeOf(err) != tc.code || (err != nil) != (tc.code != "") {
				t.Fatalf("error %v, want code %q", err, tc.code)
			}
			if got.String() != tc.want {
				t.Errorf("digest %q, want %q", got, tc.want)
			}
		})
	}
}

type brokenReader struct{}

var errBroken = errors.New("broken")

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

func TestParseSideFileReadError(t *testing.T) {
	t.Parallel()
	if _, err := ParseSideFile(brokenReader{}, "a", ""); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want the reader's", err)
	}
}

// TestCorpus reads every side file of the corpus and compares the digest with the file it is for.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus := filepath.Join("..", "..", "..", "test", "corpus")
	f, err := os.Open(filepath.Join(corpus, "sums", "SUMS.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan()
	rows := 0
	for lines.Scan() {
		rows++
		col := strings.Split(lines.Text(), "\t")
		file, wanted, hex, verdict, code := col[0], col[3], col[4], col[5], col[6]
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			got, err := verdictOf(corpus, file, wanted)
			if verdict == "accept" && err != nil || verdict == "reject" && string(artifact.CodeOf(err)) != code {
				t.Fatalf("error %v, want %s %s", err, verdict, code)
			}
			if want := strings.Trim(hex, "-"); got.Hex != want {
				t.Errorf("digest %q, want %q", got.Hex, want)
			}
		})
	}
	if lines.Err() != nil || rows == 0 {
		t.Errorf("read %d rows, error %v", rows, lines.Err())
	}
}

// verdictOf does what the importer does with a side file.
func verdictOf(corpus, file, wanted string) (artifact.Digest, error) {
	side, err := os.Open(filepath.Join(corpus, "sums", file))
	if err != nil {
		return artifact.Digest{}, err
	}
	defer side.Close()
	d, err := ParseSideFile(side, wanted, "")
	if err == nil {
		err = CheckStrength(d, false)
	}
	if err != nil {
		return d, err
	}
	data, err := os.ReadFile(filepath.Join(corpus, wanted))
	if err != nil {
		return d, err
	}
	h := d.Algorithm.New()
	h.Write(data)
	if got := artifact.DigestOf(d.Algorithm, h); got != d {
		return d, artifact.NewError(artifact.ChecksumMismatch, got.String())
	}
	return d, nil
}

func FuzzParseSideFile(f *testing.F) {
	f.Add(h256+"  a\n", "a")
	f.Add("SHA256 (a) = "+h256, "a")
	f.Add(`\`+h256+`  a\\b`, "b")
	f.Add("-----BEGIN PGP SIGNED MESSAGE-----\n-----BEGIN PGP SIGNATURE-----", "")
	f.Fuzz(func(t *testing.T, text, name string) {
		d, err := ParseSideFile(strings.NewReader(text), name, "")
		if err != nil {
			if artifact.CodeOf(err) == "" || !d.IsZero() {
				t.Fatalf("digest %v with error %v", d, err)
			}
			return
		}
		if _, err := artifact.NewDigest(d.Algorithm, d.Hex); err != nil || !strings.Contains(strings.ToLower(text), d.Hex) {
			t.Fatalf("digest %v is malformed or not in the text", d)
		}
	})
}
