package cloudsim

import (
	"errors"
	"fmt"
	"strings"
)

// Numbers that the server writes into cserrorcode.
const (
	csNone           = -1 // the field is left out
	csPlain          = 9999
	csInvalid        = 4350
	csDenied         = 4365
	csRuntime        = 4250
	csLimit          = 4370
	csAccountLimit   = 4280
	unverified       = "unable to verify user credentials and/or request signature"
	hiddenFromUsers  = "Internal error executing command, please contact your system administrator"
	noPermission     = "Caller does not have permission to operate with provided resource."
	failedDispatcher = "failed without a result"
)

// apiError is a refusal as it goes over the wire; inside a job only code and text remain.
type apiError struct {
	code   int
	cs     int
	text   string
	uuids  []object
	hidden bool // users see a general text instead
	silent bool // no X-Description header
	job    int  // code inside a job, when it differs from the rule of the job dispatcher
}

// Error returns the text that root admins see.
func (e *apiError) Error() string { return e.text }

// badParam is raised by the parameter layer.
func badParam(format string, args ...any) *apiError {
	return &apiError{code: 431, cs: csPlain, text: fmt.Sprintf(format, args...)}
}

// invalid is raised by a service that refuses a value.
func invalid(format string, args ...any) *apiError {
	return &apiError{code: 431, cs: csInvalid, text: fmt.Sprintf(format, args...)}
}

// denied is raised when the caller may not touch something.
func denied(format string, args ...any) *apiError {
	return &apiError{code: 531, cs: csDenied, text: fmt.Sprintf(format, args...), job: 530}
}

// internal is a runtime error of a service: root admins read the text, users a general one.
func internal(format string, args ...any) *apiError {
	return &apiError{code: 530, cs: csRuntime, text: fmt.Sprintf(format, args...), hidden: true}
}

// wrapped is an error that a command raised itself, whose text everybody may read.
func wrapped(code int, format string, args ...any) *apiError {
	return &apiError{code: code, cs: csPlain, text: fmt.Sprintf(format, args...)}
}

// unauthorized says nothing about what was wrong.
func unauthorized() *apiError {
	return &apiError{code: 401, cs: csNone, text: unverified, silent: true}
}

// notAvailable is the refusal of a command that the role lacks. The server prints a random id for key-signed calls.
func notAvailable(command, userID string) *apiError {
	return wrapped(432, "The API [%s] does not exist or is not available for the account for user id [%s].", command, userID)
}

// unknownID is the parameter layer's refusal of an id that resolves to nothing.
func unknownID(command, param, value string) *apiError {
	return badParam("Unable to execute API command %s due to invalid value. Invalid parameter %s value=%s due to incorrect long value format, "+
		"or entity does not exist or due to incorrect parameter annotation for the field in api cmd class.", strings.ToLower(command), param, value)
}

// about names a thing that the refusal is about.
func (e *apiError) about(what, id string) *apiError {
	e.uuids = append(e.uuids, obj("uuid", id, "description", what))
	return e
}

// asAPIError turns any error into one that can be sent.
func asAPIError(err error) *apiError {
	var e *apiError
	if errors.As(err, &e) {
		return e
	}
	return internal("%s", err.Error())
}

// body is the error envelope for a caller.
func (e *apiError) body(root bool) object {
	text := e.text
	if e.hidden && !root {
		text = hiddenFromUsers
	}
	uuids := e.uuids
	if uuids == nil {
		uuids = []object{}
	}
	o := obj("uuidList", uuids, "errorcode", e.code)
	if e.cs != csNone {
		o = o.with("cserrorcode", e.cs)
	}
	return o.with("errortext", text)
}

// jobResult is what a job that failed with this error shows.
func (e *apiError) jobResult() (code int, result object) {
	code = e.code
	if e.job != 0 {
		code = e.job
	}
	return code, obj("errorcode", code, "errortext", e.text)
}
