package cloudsim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// User data is registered once for an account, and cannot go while a machine has it.
func TestRegisteredUserData(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	register := func(name, text string) string {
		return s.outcome("registerUserData", "name", name, "userdata", text)
	}
	for _, row := range []struct{ name, text, want string }{
		{"boot", "aGVsbG8=", ""},
		{"boot", "aGVsbG8h", "HTTP 431 A userdata with name boot already exists for this account."},
		{"other", "aGVsbG8=", "HTTP 431 Userdata boot with same content already exists for this account."},
		{"bad", "hello world!", "HTTP 431 User data is not base64 encoded."},
		{"none", "", ""},
	} {
		if got := register(row.name, row.text); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	if diff := cmp.Diff([]string{"none", "boot"}, s.list("name", "listUserData")); diff != "" {
		t.Error(diff)
	}
	id := s.list("id", "listUserData", "name", "boot")[0]
	both := s.deploy("m", "userdataid", id, "userdata", "aGVsbG8=")
	if got, want := both["errortext"], "Both userdata and userdata ID inputs are not allowed, please provide only one"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := s.wait(s.deploy("m", "userdataid", id)); got != "" {
		t.Fatal(got)
	}
	if diff := cmp.Diff([]string{"boot"}, s.list("userdataname", "listVirtualMachines")); diff != "" {
		t.Error(diff)
	}
	vm := s.list("id", "listVirtualMachines")[0]
	if diff := cmp.Diff(map[string]any{"virtualmachineid": vm, "userdata": "aGVsbG8="}, s.do("getVirtualMachineUserData", "virtualmachineid", vm)["virtualmachineuserdata"]); diff != "" {
		t.Error(diff)
	}
	s.as = "admin"
	if got, want := s.outcome("deleteUserData", "id", id), "HTTP 530 Userdata boot cannot be removed as it is being used by some instances"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.job("destroyVirtualMachine", "id", vm, "expunge", "true")
	s.as = "vm1"
	if got := s.outcome("deleteUserData", "id", id); got != "" {
		t.Error(got)
	}
	if got := s.list("id", "listUserData", "id", id); len(got) != 0 {
		t.Error("still listed", got)
	}
}
