package ending

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
	"github.com/capcat/capcat/controllers/internal/step"
)

// LongestMessage keeps conditions readable; it is counted in bytes.
const LongestMessage = 4096

// Describe gives condition reason and message for an outcome that is not nil.
func (r Reasons) Describe(err error) (reason, message string) {
	var waiting *step.Waiting
	var failed *step.Failed
	var terminal *step.Terminal
	var api *cloudstack.Error
	switch {
	case errors.As(err, &terminal):
		return terminal.Reason, messageOr(terminal.Message, terminal.Err)
	case errors.As(err, &failed):
		return failed.Reason, messageOr(failed.Message, failed.Err)
	case errors.As(err, &waiting):
		return waiting.Reason, waiting.Message
	case errors.As(err, &api):
		return r.OfCall(api), err.Error()
	}
	return infrav1.ReasonInternalError, err.Error()
}

func messageOr(message string, cause error) string {
	if message == "" && cause != nil {
		return cause.Error()
	}
	return message
}

// Put sets a condition whose time of transition, should it be one, is given. A message that is too long is cut.
func Put(conditions *[]metav1.Condition, c metav1.Condition) {
	if len(c.Message) > LongestMessage {
		c.Message = strings.ToValidUTF8(c.Message[:LongestMessage-3], "") + "..."
	}
	meta.SetStatusCondition(conditions, c)
}

// IsFailure tells whether an outcome is one that people should be warned of.
func IsFailure(err error) bool {
	var waiting *step.Waiting
	return err != nil && !errors.As(err, &waiting)
}

// Blind tells whether an outcome says nothing about what the object stands for: the cloud or Kubernetes could not be asked.
// What was in order stays so.
func Blind(err error) bool {
	var waiting *step.Waiting
	var terminal *step.Terminal
	var failed *step.Failed
	switch {
	case errors.As(err, &waiting), errors.As(err, &terminal):
		return false
	case errors.As(err, &failed):
		switch failed.Reason {
		case infrav1.ReasonAPIUnreachable, infrav1.ReasonThrottled, infrav1.ReasonCredentialsRefused, infrav1.ReasonNotPermitted, infrav1.ReasonInternalError,
			infrav1.ReasonSecretInvalid, infrav1.ReasonSecretNotFound:
			return true
		}
		return false
	}
	return err != nil
}
