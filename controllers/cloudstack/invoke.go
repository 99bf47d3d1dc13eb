package cloudstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// invoke runs one SDK call under ctx. Every error that comes back is an *Error.
// The SDK client is built for the call and thrown away: it has no context of its own and is not safe to configure twice.
func invoke[T any](ctx context.Context, s *Session, do func(*sdk.CloudStackClient) (T, error)) (out T, err error) {
	carrier := &callTransport{ctx: ctx, chain: s.chain}
	defer func() {
		if p := recover(); p != nil {
			err = s.misread(carrier, fmt.Errorf("the SDK cannot read the reply: %v", p))
		}
	}()
	client := sdk.NewClient(s.endpoint, "in-transport", "in-transport", true, sdk.WithHTTPClient(&http.Client{Transport: carrier}))
	out, err = do(client)
	if err == nil {
		return out, nil
	}
	var typed *Error
	if errors.As(err, &typed) {
		return out, typed
	}
	return out, s.misread(carrier, err)
}

// misread is for replies with status 200 that the SDK could not decode: a change may have taken effect.
func (s *Session) misread(carrier *callTransport, cause error) *Error {
	kind := LostReply
	if carrier.last.command == "" || carrier.last.reads() {
		kind = Internal
	}
	return &Error{Kind: kind, Command: carrier.last.command, Text: "unexpected reply: " + s.redact.text(cause.Error())}
}

// readsOnly tells by the name of a command whether it changes nothing.
func readsOnly(command string) bool {
	for _, prefix := range []string{"list", "query", "get"} {
		if strings.HasPrefix(command, prefix) {
			return command != "getUploadParamsForTemplate"
		}
	}
	return false
}
