package v1beta2

import (
	"fmt"
	"strings"
)

// providerIDPrefix starts every provider ID that we write.
const providerIDPrefix = "cloudstack:///"

// maxInstanceID bounds the id of a VM in a provider ID.
const maxInstanceID = 64

// ProviderID gives the provider ID of the VM with that id.
func ProviderID(instanceID string) string { return providerIDPrefix + instanceID }

// ParseProviderID gives the id of the VM that a provider ID names, in lower case. It reads what we write and what
// CloudStack's cloud controller manager writes: cloudstack:///<id>, cloudstack://<id>, external-cloudstack://<id>, with
// three slashes too, and with quotes around the id as some user data leaves them. The bare word external-cloudstack, which
// an old one gives to every node, is an error, as everything else is.
func ParseProviderID(providerID string) (string, error) {
	scheme, rest, ok := strings.Cut(providerID, "://")
	if !ok || scheme != "cloudstack" && scheme != "external-cloudstack" {
		return "", fmt.Errorf("the provider ID %.80q does not name a VM of CloudStack", providerID)
	}
	id := strings.ToLower(strings.Trim(strings.TrimPrefix(rest, "/"), `'"`))
	if !isInstanceID(id) {
		return "", fmt.Errorf("the provider ID %.80q holds no id of a VM", providerID)
	}
	return id, nil
}

// isInstanceID accepts uuids and the plain numbers of very old servers.
func isInstanceID(id string) bool {
	if id == "" || len(id) > maxInstanceID {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}
