package secondarystorage

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	leftOut   = regexp.MustCompile(`^header (X-\w+) left out$`)
	expiresIn = regexp.MustCompile(`^expires in the form (\S+), signed$`)
	fileNamed = regexp.MustCompile(`^file name (.*), content qcow2$`)
	sentAs    = regexp.MustCompile(`^(\S+) sent as (\S+), registered as (\S+)$`)
	maxGiB    = regexp.MustCompile(`^(?:max|limit) (\d+) GB`)
	limitGiB  = regexp.MustCompile(`^secondary storage limit (\d+) GB$`)
	lengthOff = regexp.MustCompile(`^Content-Length (\d+) too (long|short)`)
	lengthIs  = regexp.MustCompile(`^Content-Length: (\S+)$`)
)

// build puts the request of a line together from its note.
func (u *uploads) build(t *testing.T, id string, l line) (attempt, UploadParams) {
	t.Helper()
	u.serial++
	r := UploadRequest{
		ID: id, Host: uploadHost, HTTPS: true, LifetimeMinutes: 60, Name: "t-" + strconv.FormatInt(u.serial, 10), Description: "an image",
		RequiresHVM: true, AccountID: 2, TemplateID: 1000 + u.serial, Format: "QCOW2", MaxGiB: 50, LimitGiB: -1,
	}
	file, sent := "base.qcow2", "image.qcow2"
	note := l.Note
	switch m := sentAs.FindStringSubmatch(note); {
	case m != nil:
		file, sent, r.Format = m[1], m[2], m[3]
	case fileNamed.MatchString(note):
		sent = fileNamed.FindStringSubmatch(note)[1]
	case note == "file of 0 bytes":
		file = "empty.qcow2"
	case note == "qcow2 with a backing file":
		file = "backing.qcow2"
	case note == "42 MB":
		file = "ratio2.qcow2"
	}
	u.settings(&r, note)
	p, ok := u.params[id]
	if !ok {
		p = u.engine.NewUpload(r)
		u.params[id] = p
	}
	a := u.ordinary(id, p, formBody(filePart("file", sent, "application/octet-stream", u.content(t, file))))
	u.headerFaults(&a, &p, id, note, r)
	u.bodyFaults(t, &a, note, u.content(t, file))
	return a, p
}

func (u *uploads) settings(r *UploadRequest, note string) {
	if m := maxGiB.FindStringSubmatch(note); m != nil {
		r.MaxGiB, _ = strconv.ParseInt(m[1], 10, 64)
	}
	if m := limitGiB.FindStringSubmatch(note); m != nil {
		r.LimitGiB, _ = strconv.ParseInt(m[1], 10, 64)
	}
	switch note {
	case "checksum given at getUploadParams, right":
		r.Checksum = "{SHA-256}b53f0e276ffb6e51a938887432044429fd8976a08bd14e35a3daf182784bc455"
	case "checksum given, wrong":
		r.Checksum = "{SHA-256}00"
	case "bare md5, right":
		r.Checksum = "1f73be2f0020cad0e2489cff4bd63920"
	case "checksum one blank":
		r.Checksum = " "
	case "Content-Length header over the limit (1 GB), body short":
		r.MaxGiB = 1
	}
}

func (u *uploads) ordinary(id string, p UploadParams, body []byte) attempt {
	a := attempt{
		method: "POST", path: "/upload?uuid=" + id, version: "HTTP/1.1", host: "127.0.0.1:8210", forwarded: uploadHost, body: body,
		length: strconv.Itoa(len(body)), stop: -1, headers: [][2]string{
			{"X-signature", p.Signature}, {"X-metadata", p.Metadata}, {"X-expires", p.Expires},
			{"Content-Type", "multipart/form-data; boundary=" + boundary},
		},
	}
	if u.front {
		a.path, a.host, a.forwarded = "/upload/"+id, uploadHost, ""
	}
	return a
}

func (a *attempt) set(name, value string) {
	for i, h := range a.headers {
		if strings.EqualFold(h[0], name) {
			a.headers[i][1] = value
			return
		}
	}
	a.headers = append(a.headers, [2]string{name, value})
}

func (a *attempt) drop(name string) {
	a.headers = slices.DeleteFunc(a.headers, func(h [2]string) bool { return strings.EqualFold(h[0], name) })
}

// resign signs what the request now says.
func (u *uploads) resign(a *attempt, p UploadParams, expires string) {
	a.set("X-expires", expires)
	a.set("X-signature", u.engine.Sign(p.Metadata, p.PostURL, expires))
}

func (u *uploads) address(a *attempt, host string) {
	if u.front {
		a.host = host
	} else {
		a.forwarded = host
	}
}

func (u *uploads) headerFaults(a *attempt, p *UploadParams, id, note string, r UploadRequest) {
	if m := leftOut.FindStringSubmatch(note); m != nil {
		a.drop(m[1])
	}
	if m := expiresIn.FindStringSubmatch(note); m != nil {
		u.resign(a, *p, m[1])
	}
	if m := lengthOff.FindStringSubmatch(note); m != nil {
		off, _ := strconv.Atoi(m[1])
		if m[2] == "short" {
			off = -off
		}
		a.length = strconv.Itoa(len(a.body) + off)
	}
	if m := lengthIs.FindStringSubmatch(note); m != nil {
		a.length = m[1]
	}
	switch note {
	case "no Content-Length, no chunked":
		a.length = "-"
	case "Transfer-Encoding: chunked, no Content-Length":
		a.length, a.chunked = "-", true
	case "both Transfer-Encoding: chunked and Content-Length":
		a.chunked = true
	case "signature of something else":
		a.set("X-signature", u.engine.Sign("something", "else", ""))
	case "another host name than in the postURL":
		u.address(a, "other.sim.example.org")
	case "host name in capitals":
		u.address(a, strings.ToUpper(uploadHost))
	case "host name with :443":
		u.address(a, uploadHost+":443")
	case "no X-Forwarded-Host (no proxy in front)":
		a.forwarded = ""
	case "header names in capitals":
		for i := range a.headers {
			a.headers[i][0] = strings.ToUpper(a.headers[i][0])
		}
	case "metadata changed (signature no longer fits)":
		a.set("X-metadata", p.Metadata[1:]+"A")
	case "expires in the past, signed":
		u.resign(a, *p, "2020-01-01T00:00:00.000Z")
	case "uuid of another template in the URL":
		a.path = strings.Replace(a.path, id, id+"-other", 1)
	case "no uuid in the URL":
		a.path = strings.TrimSuffix(strings.TrimSuffix(a.path, id), "?uuid=")
	case "HTTP/1.0":
		a.version = note
	case "Connection: close":
		a.set("Connection", "close")
	case "Accept-Encoding: gzip":
		a.set("Accept-Encoding", "gzip")
	case "Content-Length header over the limit (1 GB), body short":
		a.length = strconv.Itoa(2<<30 + 1)
	}
	if method, ok := strings.CutPrefix(note, "method "); ok {
		a.method = method
		if method != "PUT" {
			a.body, a.length = nil, "-"
		}
	}
	if strings.HasPrefix(note, "Expect: 100-continue") {
		a.set("Expect", "100-continue")
	}
	if strings.HasPrefix(note, "client closes at half") {
		a.stop = len(a.body) / 2
	}
	if strings.HasPrefix(note, "client closes after the header") {
		a.stop = 0
	}
}

func filePart(field, name, kind string, content []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=%q; filename=\"%s\"\r\n", boundary, field, name)
	if kind != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", kind)
	}
	fmt.Fprintf(&b, "\r\n%s\r\n", content)
	return b.Bytes()
}

func textPart(name, value string) []byte {
	return fmt.Appendf(nil, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, name, value)
}

func formBody(parts ...[]byte) []byte {
	return append(bytes.Join(parts, nil), "--"+boundary+"--\r\n"...)
}

func (u *uploads) bodyFaults(t *testing.T, a *attempt, note string, content []byte) {
	t.Helper()
	const octets = "application/octet-stream"
	file := filePart("file", "image.qcow2", octets, content)
	var body []byte
	switch note {
	case "a text field before the file":
		body = formBody(textPart("note", "before"), file)
	case "a text field after the file":
		body = formBody(file, textPart("note", "after"))
	case "two file parts":
		body = formBody(file, filePart("second", "second.qcow2", octets, u.content(t, "comp.qcow2")))
	case "no file part":
		body = formBody(textPart("note", "alone"))
	case `field name is "image"`:
		body = formBody(filePart("image", "image.qcow2", octets, content))
	case "file part without a file name":
		body = formBody(textPart("file", string(content)))
	case "file name empty":
		body = formBody(filePart("file", "", octets, content))
	case "file part without Content-Type":
		body = formBody(filePart("file", "image.qcow2", "", content))
	case "file part with text/plain":
		body = formBody(filePart("file", "image.qcow2", "text/plain", content))
	case "body is the file itself, application/octet-stream":
		body = content
		a.set("Content-Type", octets)
	case "form-urlencoded":
		body = []byte("file=image.qcow2&more=less")
		a.set("Content-Type", "application/x-www-form-urlencoded")
	case "no Content-Type":
		body = content
		a.drop("Content-Type")
	case "multipart without boundary":
		a.set("Content-Type", "multipart/form-data")
	case "boundary that does not occur":
		a.set("Content-Type", "multipart/form-data; boundary=other")
	case "closing boundary missing, Content-Length fits":
		body = bytes.TrimSuffix(file, []byte("\r\n"))
	}
	if body != nil {
		a.body, a.length = body, strconv.Itoa(len(body))
	}
}
