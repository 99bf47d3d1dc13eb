package cloudsim

import "time"

// machineCommands are about machines and their NICs.
func machineCommands() map[string]command {
	hidden := []string{"hostid", "podid", "clusterid", "storageid"}
	return map[string]command{
		"listVirtualMachines":               {sync: listVirtualMachines, refers: byID("vm"), adminOnly: hidden},
		"listVirtualMachinesMetrics":        {sync: listVirtualMachinesMetrics, refers: byID("vm"), adminOnly: hidden},
		"deployVirtualMachine":              {async: deployVirtualMachine, class: "user.vm.DeployVMCmd", adminClass: "admin.vm.DeployVMCmdByAdmin", takes: 2 * time.Second, hostNames: true, required: []string{"serviceofferingid", "zoneid"}, notEmpty: []string{"serviceofferingid", "zoneid"}},
		"startVirtualMachine":               {async: startVirtualMachine, class: "user.vm.StartVMCmd", adminClass: "admin.vm.StartVMCmdByAdmin", takes: time.Second, refers: byID("vm")},
		"stopVirtualMachine":                {async: stopVirtualMachine, class: "user.vm.StopVMCmd", adminClass: "admin.vm.StopVMCmdByAdmin", takes: time.Second, refers: byID("vm")},
		"rebootVirtualMachine":              {async: rebootVirtualMachine, class: "user.vm.RebootVMCmd", adminClass: "admin.vm.RebootVMCmdByAdmin", takes: 1500 * time.Millisecond, refers: byID("vm")},
		"destroyVirtualMachine":             {async: destroyVirtualMachine, class: "user.vm.DestroyVMCmd", adminClass: "admin.vm.DestroyVMCmdByAdmin", takes: 2 * time.Second, refers: byID("vm")},
		"expungeVirtualMachine":             {async: expungeVirtualMachine, class: "admin.vm.ExpungeVMCmd", takes: 500 * time.Millisecond, refers: byID("vm")},
		"migrateVirtualMachine":             {async: migrateVirtualMachine, class: "admin.vm.MigrateVMCmd", takes: time.Second},
		"recoverVirtualMachine":             {sync: recoverVirtualMachine, refers: byID("vm")},
		"updateVirtualMachine":              {sync: updateVirtualMachine, refers: byID("vm"), hostNames: true},
		"scaleVirtualMachine":               {async: scaleVirtualMachine, class: "user.vm.ScaleVMCmd", adminClass: "admin.vm.ScaleVMCmdByAdmin", takes: 500 * time.Millisecond, refers: byID("vm")},
		"changeServiceForVirtualMachine":    {sync: changeServiceForVirtualMachine, refers: byID("vm")},
		"getVirtualMachineUserData":         {sync: getVirtualMachineUserData},
		"getVMPassword":                     {sync: getVMPassword, refers: byID("vm")},
		"resetPasswordForVirtualMachine":    {async: resetPasswordForVirtualMachine, class: "user.vm.ResetVMPasswordCmd", adminClass: "admin.vm.ResetVMPasswordCmdByAdmin", refers: byID("vm")},
		"listNics":                          {sync: listNics},
		"updateDefaultNicForVirtualMachine": {async: updateDefaultNicForVirtualMachine, class: "user.vm.UpdateDefaultNicForVMCmd", adminClass: "admin.vm.UpdateDefaultNicForVMCmdByAdmin"},
		"listInstanceGroups":                {sync: listInstanceGroups, refers: byID("instancegroup")},
	}
}

// volumeCommands are about disks and their snapshots.
func volumeCommands() map[string]command {
	return map[string]command{
		"listVolumes":    {sync: listVolumes, refers: byID("volume"), adminOnly: []string{"hostid", "podid", "clusterid", "storageid"}},
		"createVolume":   {async: createVolume, class: "user.volume.CreateVolumeCmd", adminClass: "admin.volume.CreateVolumeCmdByAdmin", refers: map[string]string{"snapshotid": "snapshot"}, fields: map[string]string{"name": "volumeName"}},
		"attachVolume":   {async: attachVolume, class: "user.volume.AttachVolumeCmd", adminClass: "admin.volume.AttachVolumeCmdByAdmin", refers: byID("volume")},
		"detachVolume":   {async: detachVolume, class: "user.volume.DetachVolumeCmd", adminClass: "admin.volume.DetachVolumeCmdByAdmin", refers: byID("volume")},
		"deleteVolume":   {sync: deleteVolume, refers: byID("volume"), notEmpty: []string{"id"}},
		"destroyVolume":  {async: destroyVolume, class: "user.volume.DestroyVolumeCmd", adminClass: "admin.volume.DestroyVolumeCmdByAdmin", refers: byID("volume")},
		"recoverVolume":  {sync: recoverVolume, refers: byID("volume")},
		"updateVolume":   {async: updateVolume, class: "user.volume.UpdateVolumeCmd", adminClass: "admin.volume.UpdateVolumeCmdByAdmin", refers: byID("volume")},
		"resizeVolume":   {async: resizeVolume, class: "user.volume.ResizeVolumeCmd", adminClass: "admin.volume.ResizeVolumeCmdByAdmin", refers: byID("volume")},
		"createSnapshot": {async: createSnapshot, class: "user.snapshot.CreateSnapshotCmd"},
		"listSnapshots":  {sync: listSnapshots, refers: byID("snapshot")},
		"deleteSnapshot": {async: deleteSnapshot, class: "user.snapshot.DeleteSnapshotCmd", refers: byID("snapshot")},
	}
}

// keyCommands are about SSH key pairs and registered user data.
func keyCommands() map[string]command {
	return map[string]command{
		"listSSHKeyPairs":              {sync: listSSHKeyPairs, refers: byID("sshkeypair")},
		"registerSSHKeyPair":           {sync: registerSSHKeyPair, notEmpty: []string{"name", "publickey"}},
		"createSSHKeyPair":             {sync: createSSHKeyPair, notEmpty: []string{"name"}},
		"registerUserData":             {sync: registerUserData, required: []string{"name", "userdata"}},
		"listUserData":                 {sync: listUserData, refers: byID("userdata")},
		"deleteUserData":               {sync: deleteUserData, refers: byID("userdata")},
		"deleteSSHKeyPair":             {sync: deleteSSHKeyPair, notEmpty: []string{"name"}},
		"resetSSHKeyForVirtualMachine": {async: resetSSHKeyForVirtualMachine, class: "user.vm.ResetVMSSHKeyCmd", adminClass: "admin.vm.ResetVMSSHKeyCmdByAdmin", takes: 300 * time.Millisecond, alias: "resetSSHKeyforvirtualmachine", refers: byID("vm")},
	}
}

// securityCommands are about security groups.
func securityCommands() map[string]command {
	rule := map[string]string{"securitygroupid": "securitygroup", "id": "securityrule"}
	return map[string]command{
		"listSecurityGroups":            {sync: listSecurityGroups, refers: byID("securitygroup")},
		"createSecurityGroup":           {sync: createSecurityGroup, notEmpty: []string{"name"}},
		"deleteSecurityGroup":           {sync: deleteSecurityGroup, refers: byID("securitygroup")},
		"authorizeSecurityGroupIngress": {async: authorize(false), class: "user.securitygroup.AuthorizeSecurityGroupIngressCmd", refers: rule},
		"authorizeSecurityGroupEgress":  {async: authorize(true), class: "user.securitygroup.AuthorizeSecurityGroupEgressCmd", refers: rule},
		"revokeSecurityGroupIngress":    {async: revoke, class: "user.securitygroup.RevokeSecurityGroupIngressCmd", refers: rule},
		"revokeSecurityGroupEgress":     {async: revoke, class: "user.securitygroup.RevokeSecurityGroupEgressCmd", refers: rule},
	}
}

// kubernetesCommands are about Kubernetes clusters.
func kubernetesCommands() map[string]command {
	return map[string]command{
		"listKubernetesClusters":                     {sync: listKubernetesClusters, refers: byID("kubernetescluster")},
		"createKubernetesCluster":                    {async: createKubernetesCluster, class: "user.kubernetes.cluster.CreateKubernetesClusterCmd"},
		"addVirtualMachinesToKubernetesCluster":      {sync: addVirtualMachinesToKubernetesCluster, refers: byID("kubernetescluster"), notEmpty: []string{"virtualmachineids"}},
		"removeVirtualMachinesFromKubernetesCluster": {sync: removeVirtualMachinesFromKubernetesCluster, refers: byID("kubernetescluster"), notEmpty: []string{"virtualmachineids"}},
		"stopKubernetesCluster":                      {async: notForExternal("Stop"), class: "user.kubernetes.cluster.StopKubernetesClusterCmd", refers: byID("kubernetescluster")},
		"scaleKubernetesCluster":                     {async: notForExternal("Scale"), class: "user.kubernetes.cluster.ScaleKubernetesClusterCmd", refers: byID("kubernetescluster")},
		"getKubernetesClusterConfig":                 {sync: getKubernetesClusterConfig, refers: byID("kubernetescluster")},
		"deleteKubernetesCluster":                    {async: deleteKubernetesCluster, class: "user.kubernetes.cluster.DeleteKubernetesClusterCmd", refers: byID("kubernetescluster")},
	}
}
