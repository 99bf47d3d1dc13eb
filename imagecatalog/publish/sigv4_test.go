package publish

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSign signs the examples of the documentation of S3.
func TestSign(t *testing.T) {
	k := &Keys{ID: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "us-east-1"}
	now := time.Date(2013, time.May, 24, 0, 0, 0, 0, time.UTC)
	for what, c := range map[string]struct {
		method, url, sum string
		header           map[string]string
		want             string
	}{
		"get": {
			"GET", "https://examplebucket.s3.amazonaws.com/test.txt", emptySHA256, map[string]string{"Range": "bytes=0-9"},
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		},
		"put": {
			"PUT", "https://examplebucket.s3.amazonaws.com/test$file.text", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
			map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"},
			"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
		},
		"lifecycle": {
			"GET", "https://examplebucket.s3.amazonaws.com/?lifecycle", emptySHA256, nil,
			"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		},
		"list": {
			"GET", "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", emptySHA256, nil,
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
		},
	} {
		t.Run(what, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, c.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range c.header {
				req.Header.Set(name, value)
			}
			req.Header.Set("Expect", "100-continue") // is not signed
			k.sign(req, c.sum, now)
			if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestSessionToken(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://s3.example.com/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	(&Keys{ID: "a", Secret: "b", Session: "c", Region: "d"}).sign(req, emptySHA256, time.Unix(0, 0))
	if req.Header.Get("X-Amz-Security-Token") != "c" || !strings.Contains(req.Header.Get("Authorization"), "x-amz-security-token") {
		t.Errorf("header %v", req.Header)
	}
}
