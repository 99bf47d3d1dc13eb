package v1beta2

// Condition types of clusters and machines. Ready summarises the others of the same object.
const (
	// ConditionPaused is True while Cluster.spec.paused or the paused annotation stops all work on the object.
	ConditionPaused = "Paused"
	// ConditionNetworkReady is True when every failure domain of a cluster has its zone and network.
	ConditionNetworkReady = "NetworkReady"
	// ConditionEndpointReady is True when the API has its address and, where it is wanted, its load balancer.
	ConditionEndpointReady = "EndpointReady"
	// ConditionCKSSynced is True when CloudStack's own Kubernetes service shows the cluster as it is.
	ConditionCKSSynced = "CKSSynced"
	// ConditionVersionsAvailable is True when every zone in use has a ready image of each version that the cluster asks for.
	// Ready does not depend on it: what runs goes on running.
	ConditionVersionsAvailable = "VersionsAvailable"
	// ConditionResolved is True when everything a machine asks for was found and chosen.
	ConditionResolved = "Resolved"
	// ConditionInstanceReady is True when the VM of a machine runs.
	ConditionInstanceReady = "InstanceReady"
	// ConditionLoadBalancerAttached is True when the VM is a member of all rules of the load balancer, or needs to be of none.
	ConditionLoadBalancerAttached = "LoadBalancerAttached"
	// ConditionKubeletVersionMatched is True when the Node of a machine runs the version that its Machine asks for.
	ConditionKubeletVersionMatched = "KubeletVersionMatched"
	// ConditionCapacityKnown is True when a CloudStackMachineTemplate shows what its machines would have.
	ConditionCapacityKnown = "CapacityKnown"
)

// Reasons of clusters and machines at work and in good order.
const (
	// ReasonNotPaused says that nothing stops the work on the object.
	ReasonNotPaused = "NotPaused"
	// ReasonExternallyManaged says that the managed-by annotation leaves the cluster to somebody else.
	ReasonExternallyManaged = "ExternallyManaged"
	// ReasonWaitingForOwner says that Cluster API has not set the owner yet.
	ReasonWaitingForOwner = "WaitingForOwner"
	// ReasonWaitingForInfrastructure says that a machine waits for the infrastructure of its cluster.
	ReasonWaitingForInfrastructure = "WaitingForInfrastructure"
	// ReasonWaitingForBootstrapData says that a machine waits for the bootstrap provider.
	ReasonWaitingForBootstrapData = "WaitingForBootstrapData"
	// ReasonWaitingForEndpoint says that the user or the control plane provider has to set the endpoint.
	ReasonWaitingForEndpoint = "WaitingForEndpoint"
	// ReasonWaitingForMachines says that a cluster is deleted when its machines are gone.
	ReasonWaitingForMachines = "WaitingForMachines"
	// ReasonWaitingForExpunge says that destroyed VMs hold what is to be deleted until CloudStack expunges them.
	ReasonWaitingForExpunge = "WaitingForExpunge"
	// ReasonWaitingForJob says that a job of CloudStack is not finished.
	ReasonWaitingForJob = "WaitingForJob"
	// ReasonCreating says that something is being created in CloudStack.
	ReasonCreating = "Creating"
	// ReasonRepairing says that something was changed or lost behind our back and is being put right.
	ReasonRepairing = "Repairing"
	// ReasonResolved says that everything was found.
	ReasonResolved = "Resolved"
	// ReasonDeprecated says that a deprecated image was chosen; it is the reason of an event.
	ReasonDeprecated = "Deprecated"
	// ReasonDeploying says that the VM is being created.
	ReasonDeploying = "Deploying"
	// ReasonStarting says that the VM starts.
	ReasonStarting = "Starting"
	// ReasonRunning says that the VM runs.
	ReasonRunning = "Running"
	// ReasonMigrating says that the VM moves to another host and runs on.
	ReasonMigrating = "Migrating"
	// ReasonAttaching says that the VM becomes a member of the load balancer.
	ReasonAttaching = "Attaching"
	// ReasonAttached says that the VM is a member of the load balancer.
	ReasonAttached = "Attached"
	// ReasonDetaching says that the VM leaves the load balancer before it is destroyed.
	ReasonDetaching = "Detaching"
	// ReasonDestroying says that the VM is being destroyed.
	ReasonDestroying = "Destroying"
	// ReasonNotNeeded says that the object needs nothing of the kind, such as a worker its place in the load balancer.
	ReasonNotNeeded = "NotNeeded"
	// ReasonWaitingForNode says that no Node has joined for the machine yet.
	ReasonWaitingForNode = "WaitingForNode"
	// ReasonKubeletVersionMatched says that the Node runs the version that was asked for.
	ReasonKubeletVersionMatched = "KubeletVersionMatched"
	// ReasonCapacityKnown says that capacity and node information were found.
	ReasonCapacityKnown = "CapacityKnown"
)

// Reasons of failures of a cluster a person can do something about.
const (
	// ReasonIdentityNotFound says that nothing tells which credentials to use.
	ReasonIdentityNotFound = "IdentityNotFound"
	// ReasonIdentityAmbiguous says that several objects tell different credentials and none is taken.
	ReasonIdentityAmbiguous = "IdentityAmbiguous"
	// ReasonZoneAmbiguous says that several zones fit and none was chosen.
	ReasonZoneAmbiguous = "ZoneAmbiguous"
	// ReasonNetworkNotFound says that no such network can be seen.
	ReasonNetworkNotFound = "NetworkNotFound"
	// ReasonNetworkAmbiguous says that several networks have the name.
	ReasonNetworkAmbiguous = "NetworkAmbiguous"
	// ReasonNetworkUnsuitable says that the network is of another type or zone, or lacks a service that is needed.
	ReasonNetworkUnsuitable = "NetworkUnsuitable"
	// ReasonFirewallUnmanaged says that a network routes, and that the rules of its firewall are for a person to make.
	ReasonFirewallUnmanaged = "FirewallUnmanaged"
	// ReasonNetworkOfferingNotFound says that there is no such network offering.
	ReasonNetworkOfferingNotFound = "NetworkOfferingNotFound"
	// ReasonNetworkLost says that the network vanished from CloudStack behind our back.
	ReasonNetworkLost = "NetworkLost"
	// ReasonVPCNotFound says that no such VPC can be seen and none can be made.
	ReasonVPCNotFound = "VPCNotFound"
	// ReasonVPCAmbiguous says that several VPCs have the name.
	ReasonVPCAmbiguous = "VPCAmbiguous"
	// ReasonVPCOfferingNotFound says that there is no such VPC offering.
	ReasonVPCOfferingNotFound = "VPCOfferingNotFound"
	// ReasonAddressUnavailable says that the address that was asked for is taken, or is not in the zone.
	ReasonAddressUnavailable = "AddressUnavailable"
	// ReasonAddressesExhausted says that there is no free address.
	ReasonAddressesExhausted = "AddressesExhausted"
	// ReasonAddressLost says that the public address of the cluster was released behind our back.
	ReasonAddressLost = "AddressLost"
	// ReasonPortTaken says that a rule of somebody else holds a port of the load balancer.
	ReasonPortTaken = "PortTaken"
	// ReasonResourceAmbiguous says that several resources carry the mark of one owner and none is touched.
	ReasonResourceAmbiguous = "ResourceAmbiguous"
	// ReasonDeletionBlocked says that CloudStack refuses a deletion.
	ReasonDeletionBlocked = "DeletionBlocked"
	// ReasonCKSUnsupported says that CloudStack has no Kubernetes service, or not for clusters of others.
	ReasonCKSUnsupported = "CKSUnsupported"
)

// Reasons of failures of a machine a person can do something about.
const (
	// ReasonFailureDomainNotFound says that the cluster has no such failure domain.
	ReasonFailureDomainNotFound = "FailureDomainNotFound"
	// ReasonVersionMissing says that the Machine has no version to look an image up by.
	ReasonVersionMissing = "VersionMissing"
	// ReasonVersionMismatch says that the template is known to hold another version than the Machine asks for.
	ReasonVersionMismatch = "VersionMismatch"
	// ReasonKubeletVersionMismatch says that the Node runs another version than the Machine asks for.
	ReasonKubeletVersionMismatch = "KubeletVersionMismatch"
	// ReasonImageNotFound says that no catalog has an image for the machine.
	ReasonImageNotFound = "ImageNotFound"
	// ReasonImageNotReady says that the image for the machine is on its way.
	ReasonImageNotReady = "ImageNotReady"
	// ReasonImageAmbiguous says that several images fit equally well.
	ReasonImageAmbiguous = "ImageAmbiguous"
	// ReasonTemplateNotReady says that the fixed template cannot be deployed.
	ReasonTemplateNotReady = "TemplateNotReady"
	// ReasonOfferingNotFound says that no service offering fits.
	ReasonOfferingNotFound = "OfferingNotFound"
	// ReasonOfferingAmbiguous says that several service offerings have the name.
	ReasonOfferingAmbiguous = "OfferingAmbiguous"
	// ReasonOfferingClassNotFound says that no catalog has such a class, or it has no rule for the version.
	ReasonOfferingClassNotFound = "OfferingClassNotFound"
	// ReasonOfferingIncomplete says that a custom service offering lacks cpuNumber or memory in details.
	ReasonOfferingIncomplete = "OfferingIncomplete"
	// ReasonDiskOfferingNotFound says that there is no such disk offering.
	ReasonDiskOfferingNotFound = "DiskOfferingNotFound"
	// ReasonDiskOfferingAmbiguous says that several disk offerings have the name.
	ReasonDiskOfferingAmbiguous = "DiskOfferingAmbiguous"
	// ReasonDiskSizeInvalid says that a custom size is missing, or given for an offering of fixed size.
	ReasonDiskSizeInvalid = "DiskSizeInvalid"
	// ReasonRootDiskTooSmall says that the root disk is smaller than the image.
	ReasonRootDiskTooSmall = "RootDiskTooSmall"
	// ReasonSSHKeyNotFound says that there is no such key pair.
	ReasonSSHKeyNotFound = "SSHKeyNotFound"
	// ReasonAffinityGroupNotFound says that there is no such affinity group, or the server knows no such type.
	ReasonAffinityGroupNotFound = "AffinityGroupNotFound"
	// ReasonUserDataTooLarge says that the user data exceeds the limit of the server.
	ReasonUserDataTooLarge = "UserDataTooLarge"
	// ReasonOutOfCapacity says that no host has room for the VM.
	ReasonOutOfCapacity = "OutOfCapacity"
	// ReasonNameTaken says that a VM of somebody else holds the name.
	ReasonNameTaken = "NameTaken"
	// ReasonDeployRefused says that CloudStack refuses to create the VM.
	ReasonDeployRefused = "DeployRefused"
	// ReasonDeployFailed says that the VM could not be created and is tried again.
	ReasonDeployFailed = "DeployFailed"
	// ReasonInstanceAmbiguous says that several VMs carry the mark of the machine.
	ReasonInstanceAmbiguous = "InstanceAmbiguous"
	// ReasonInstanceStopped says that the VM was stopped behind our back.
	ReasonInstanceStopped = "InstanceStopped"
	// ReasonInstanceDestroyed says that the VM was destroyed behind our back.
	ReasonInstanceDestroyed = "InstanceDestroyed"
	// ReasonInstanceLost says that CloudStack no longer lists the VM.
	ReasonInstanceLost = "InstanceLost"
	// ReasonInstanceError says that CloudStack gave the VM up.
	ReasonInstanceError = "InstanceError"
	// ReasonDeleteProtected says that the VM is protected from being destroyed.
	ReasonDeleteProtected = "DeleteProtected"
	// ReasonAttachFailed says that CloudStack does not make the VM a member of the load balancer.
	ReasonAttachFailed = "AttachFailed"
)
