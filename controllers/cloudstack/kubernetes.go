package cloudstack

import (
	"context"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// externalType is the type of clusters in CloudStack's own Kubernetes service that somebody else runs.
const externalType = "ExternalManaged"

// KubernetesCluster is an entry in CloudStack's own Kubernetes service for a cluster that somebody else runs.
type KubernetesCluster struct {
	ID, Name, Description string
	ZoneID                string
	// Members are the ids of its machines, sorted. One that is expunged leaves by itself.
	Members []string
}

// KubernetesClustersNamed lists the owner's entries of exactly that name. Names need not be unique. Servers without the
// service answer as to wrong credentials: ask Capabilities before.
func (s *Session) KubernetesClustersNamed(ctx context.Context, owner Owner, name string) ([]KubernetesCluster, error) {
	if err := need("listKubernetesClusters", name); err != nil {
		return nil, err
	}
	all, err := s.listKubernetesClusters(ctx, owner, "", name)
	return slices.DeleteFunc(all, func(k KubernetesCluster) bool { return k.Name != name }), err
}

// FindKubernetesCluster finds an entry by its id.
func (s *Session) FindKubernetesCluster(ctx context.Context, owner Owner, id string) (KubernetesCluster, error) {
	if err := need("listKubernetesClusters", id); err != nil {
		return KubernetesCluster{}, err
	}
	rows, err := s.listKubernetesClusters(ctx, owner, id, "")
	return oneOf(rows, err, "listKubernetesClusters", id, func(k KubernetesCluster) string { return k.ID })
}

// kubernetesRow is what is read of an entry: the SDK's own row has machines that it cannot always decode.
type kubernetesRow struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"clustertype"`
	ZoneID      string `json:"zoneid"`
	Machines    []struct {
		ID string `json:"id"`
	} `json:"virtualmachines"`
}

func (s *Session) listKubernetesClusters(ctx context.Context, owner Owner, id, name string) ([]KubernetesCluster, error) {
	rows, err := readRows(ctx, s, "listKubernetesClusters", func(k kubernetesRow) string { return k.ID },
		func(c *sdk.CloudStackClient, number, size int) ([]kubernetesRow, int, error) {
			p := customList{&sdk.CustomServiceParams{}}
			owner.scope(p, number, size, id)
			if id != "" {
				p.SetParam("id", id)
			}
			if name != "" {
				p.SetParam("name", name)
			}
			var got struct {
				Count int             `json:"count"`
				Rows  []kubernetesRow `json:"kubernetescluster"`
			}
			err := custom(c).CustomRequest("listKubernetesClusters", p.CustomServiceParams, &got)
			return got.Rows, got.Count, err
		})
	if err != nil {
		return nil, err
	}
	var out []KubernetesCluster
	for _, row := range rows {
		if row.Type != externalType {
			continue
		}
		k := KubernetesCluster{ID: row.ID, Name: row.Name, Description: row.Description, ZoneID: row.ZoneID}
		for _, m := range row.Machines {
			k.Members = append(k.Members, m.ID)
		}
		slices.Sort(k.Members)
		out = append(out, k)
	}
	return out, nil
}

// customList gives the parameters of any list the setters that lists have.
type customList struct{ *sdk.CustomServiceParams }

func (p customList) SetPage(n int)          { p.SetParam("page", strconv.Itoa(n)) }
func (p customList) SetPagesize(n int)      { p.SetParam("pagesize", strconv.Itoa(n)) }
func (p customList) SetListall(all bool)    { p.SetParam("listall", strconv.FormatBool(all)) }
func (p customList) SetProjectid(id string) { p.SetParam("projectid", id) }
func (p customList) SetDomainid(id string)  { p.SetParam("domainid", id) }
func (p customList) SetAccount(name string) { p.SetParam("account", name) }

// NewKubernetesCluster is what an entry is made with.
type NewKubernetesCluster struct {
	Owner Owner
	Name  string
	// Description has room for an owner mark inside the call.
	Description       string
	ZoneID, NetworkID string
}

// CreateKubernetesCluster begins to make an entry. Names need not be unique: after LostReply or Internal it may exist, and
// another try makes a second one.
func (s *Session) CreateKubernetesCluster(ctx context.Context, n NewKubernetesCluster) (id string, job Job, err error) {
	if err := need("createKubernetesCluster", n.Name, n.ZoneID); err != nil {
		return "", "", err
	}
	var got struct {
		ID  string `json:"id"`
		Job string `json:"jobid"`
	}
	_, err = invoke(ctx, s, func(c *sdk.CloudStackClient) (bool, error) {
		// The SDK's own verb asks for a version and an offering, which such a cluster has none of.
		p := customList{&sdk.CustomServiceParams{}}
		n.Owner.fill(p)
		p.SetParam("clustertype", externalType)
		p.SetParam("name", n.Name)
		p.SetParam("zoneid", n.ZoneID)
		if n.Description != "" {
			p.SetParam("description", n.Description)
		}
		if n.NetworkID != "" {
			p.SetParam("networkid", n.NetworkID)
		}
		return true, custom(c).CustomRequest("createKubernetesCluster", p.CustomServiceParams, &got)
	})
	if err != nil {
		return "", "", err
	}
	return begun(got.ID, got.Job, "createKubernetesCluster")
}

// DeleteKubernetesCluster begins to delete an entry, and never its machines. NotFound means that it is gone.
func (s *Session) DeleteKubernetesCluster(ctx context.Context, id string) (Job, error) {
	if err := need("deleteKubernetesCluster", id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DeleteKubernetesClusterResponse, error) {
		return c.Kubernetes.DeleteKubernetesCluster(c.Kubernetes.NewDeleteKubernetesClusterParams(id))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}

// AddToKubernetesCluster shows machines in an entry, at once. Those that are shown already do not matter, but what they are
// shown as is not changed. One that is expunged, or an entry that is gone, fails the whole call as Internal.
func (s *Session) AddToKubernetesCluster(ctx context.Context, id string, controlPlane bool, vmIDs ...string) error {
	if err := need("addVirtualMachinesToKubernetesCluster", slices.Concat(vmIDs, []string{id})...); err != nil || len(vmIDs) == 0 {
		return err
	}
	_, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.AddVirtualMachinesToKubernetesClusterResponse, error) {
		p := c.Kubernetes.NewAddVirtualMachinesToKubernetesClusterParams(id, vmIDs)
		p.SetIscontrolnode(controlPlane)
		return c.Kubernetes.AddVirtualMachinesToKubernetesCluster(p)
	})
	return err
}

// RemoveFromKubernetesCluster shows machines in an entry no more, at once. Those that are not shown do not matter. One that
// is expunged fails the whole call as Internal.
func (s *Session) RemoveFromKubernetesCluster(ctx context.Context, id string, vmIDs ...string) error {
	if err := need("removeVirtualMachinesFromKubernetesCluster", slices.Concat(vmIDs, []string{id})...); err != nil || len(vmIDs) == 0 {
		return err
	}
	_, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (bool, error) {
		p := &sdk.CustomServiceParams{}
		p.SetParam("id", id)
		p.SetParam("virtualmachineids", strings.Join(vmIDs, ","))
		// The reply is a list, which the SDK does not read.
		var ignored map[string]any
		return true, custom(c).CustomRequest("removeVirtualMachinesFromKubernetesCluster", p, &ignored)
	})
	return err
}
