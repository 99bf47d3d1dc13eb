package cloudstack_test

import (
	"testing"
	"time"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"

	"github.com/capcat/capcat/controllers/cloudstack"
)

// TestOwnersAreKeptApart has a machine of one name in an account, in a project of it, and in another account, all of which a
// root administrator sees too.
func TestOwnersAreKeptApart(t *testing.T) {
	own := newSite(t)
	keys := own.Keys()["tenant"]
	client := sdk.NewClient(own.address, keys.APIKey, keys.SecretKey, true)
	if _, err := client.Project.CreateProject(client.Project.NewCreateProjectParams("team", "team")); err != nil {
		t.Fatal(err)
	}
	own.clock.Step(10 * time.Second)
	project, err := own.FindOwner(t.Context(), cloudstack.OwnerName{Project: "team"})
	if err != nil {
		t.Fatal(err)
	}
	root := own.as(t, "admin")
	tenant, err := root.FindOwner(t.Context(), cloudstack.OwnerName{Domain: "ROOT", Account: "tenant"})
	if err != nil {
		t.Fatal(err)
	}

	offering, err := own.FindNetwork(t.Context(), cloudstack.Owner{}, own.network)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := own.CreateNetwork(t.Context(), cloudstack.NewNetwork{Owner: project, Name: "net", ZoneID: own.zone, OfferingID: offering.OfferingID})
	if err != nil {
		t.Fatal(err)
	}
	inProject := own.vm
	inProject.Owner, inProject.Networks = project, []cloudstack.VMNetwork{{ID: shared}}
	ofRoot := own.vm
	ofRoot.Owner = tenant
	ofRoot.Name = "other"
	ids := map[string]string{"own": own.deploy(t, own.vm), "project": own.deploy(t, inProject)}
	id, _, err := root.DeployVM(t.Context(), ofRoot)
	if err != nil {
		t.Fatal(err)
	}
	ids["root's"] = id

	lists := map[string]struct {
		session *cloudstack.Session
		owner   cloudstack.Owner
		name    string
		want    string
	}{
		"own":                        {own.Session, cloudstack.Owner{}, "vm", "own"},
		"project":                    {own.Session, project, "vm", "project"},
		"own, by root":               {root, tenant, "vm", "own"},
		"project, by root":           {root, project, "vm", "project"},
		"made by root for another":   {root, tenant, "other", "root's"},
		"the same, by its owner":     {own.Session, cloudstack.Owner{}, "other", "root's"},
		"none of root's own account": {root, cloudstack.Owner{}, "vm", ""},
	}
	for name, tc := range lists {
		t.Run(name, func(t *testing.T) {
			found, err := tc.session.VMsNamed(t.Context(), tc.owner, own.zone, tc.name)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range found {
				got = append(got, v.ID)
			}
			if len(got) > 1 || (len(got) == 1) != (tc.want != "") || (len(got) == 1 && got[0] != ids[tc.want]) {
				t.Errorf("machines %v, want only that one: %q", got, tc.want)
			}
			if tc.want == "" {
				return
			}
			if v, err := tc.session.FindVM(t.Context(), tc.owner, ids[tc.want]); err != nil || v.ID != ids[tc.want] {
				t.Errorf("FindVM() = %+v, %v", v, err)
			}
		})
	}
	for name, tc := range map[string]struct {
		session *cloudstack.Session
		owner   cloudstack.Owner
		id      string
	}{
		"own": {own.Session, cloudstack.Owner{}, own.network}, "project": {own.Session, project, shared},
		"own, by root": {root, tenant, own.network}, "project, by root": {root, project, shared},
	} {
		if n, err := tc.session.FindNetwork(t.Context(), tc.owner, tc.id); err != nil || n.Name != "net" {
			t.Errorf("%s: FindNetwork() = %+v, %v", name, n, err)
		}
		if list, err := tc.session.NetworksNamed(t.Context(), tc.owner, own.zone, "net"); err != nil || len(list) != 1 || list[0].ID != tc.id {
			t.Errorf("%s: NetworksNamed() = %+v, %v, want only that one", name, list, err)
		}
	}
}
