package v1beta2

import "strings"

// Labels and annotations on Kubernetes objects.
const (
	// LabelCatalog on a CloudStackImage holds the name of the TemplateCatalog that made it.
	LabelCatalog = GroupName + "/catalog"
	// LabelCatalogImage on a CloudStackImage holds the name of the catalog's entry.
	LabelCatalogImage = GroupName + "/catalog-image"
	// LabelKubernetesVersion on a CloudStackImage holds its version as LabelVersion encodes it.
	LabelKubernetesVersion = GroupName + "/kubernetes-version"
	// LabelManagedBy is the well-known label that names who maintains an object.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedByCatalog is the value of LabelManagedBy on objects that a TemplateCatalog maintains.
	ManagedByCatalog = "capcat-catalog"
	// LabelMove on an object has clusterctl move take it along. Its value does not matter to clusterctl.
	LabelMove = "clusterctl.cluster.x-k8s.io/move"
	// MoveByIdentity is the value of LabelMove on Secrets that are labelled because an identityRef or acsEndpoint names them. When
	// none does any more, the label goes, unless its value is another: then somebody else wants it.
	MoveByIdentity = "capcat-identity"

	// AnnotationIdentity holds the identity of an object in CloudStack: a random id, written once before the first
	// side effect. Unlike the UID it survives clusterctl move.
	AnnotationIdentity = GroupName + "/identity"
	// AnnotationSkipUpgradeGate on a Cluster lets it be upgraded, where that is possible, although some zones lack images of the
	// version. Its value does not matter.
	AnnotationSkipUpgradeGate = GroupName + "/skip-upgrade-gate"
	// AnnotationDeleteForMove is put by clusterctl on objects it deletes after having moved them elsewhere.
	AnnotationDeleteForMove = "clusterctl.cluster.x-k8s.io/delete-for-move"

	// FinalizerCatalog keeps a TemplateCatalog until its images are gone.
	FinalizerCatalog = "templatecatalog." + GroupName
	// FinalizerImage keeps a CloudStackImage until its template is deleted or released.
	FinalizerImage = "cloudstackimage." + GroupName
	// FinalizerCluster keeps a CloudStackCluster until what was created for it is gone.
	FinalizerCluster = "cloudstackcluster." + GroupName
	// FinalizerMachine keeps a CloudStackMachine until its VM is gone.
	FinalizerMachine = "cloudstackmachine." + GroupName
	// FinalizerIdentity keeps an identity Secret while a cluster needs it. Built-in kinds take only names with a slash.
	FinalizerIdentity = GroupName + "/protect"
)

// Marks on what is created in CloudStack: keys of the details of templates and VMs, repeated as tags for people to read,
// and keys of tags on what has no details, such as networks, addresses and rules.
const (
	// MarkPrefix starts every mark; user details may not.
	MarkPrefix = "capcat."
	// MarkOwner holds the AnnotationIdentity of the object that owns the resource. Only what was created for an object
	// carries it, so it also says what may be deleted with the object.
	MarkOwner = MarkPrefix + "owner"
	// MarkCluster holds the AnnotationIdentity of the CloudStackCluster that a VM belongs to.
	MarkCluster = MarkPrefix + "cluster"
	// MarkMachine holds namespace/name of the CloudStackMachine.
	MarkMachine = MarkPrefix + "machine"
	// MarkName holds namespace/name of the CloudStackCluster that a network, address or rule was created for.
	MarkName = MarkPrefix + "name"
	// MarkContentDigest holds the digest of the decompressed image, such as sha256:9f86...
	MarkContentDigest = MarkPrefix + "content-digest"
	// MarkDownloadDigest holds the digest of the image as it was downloaded.
	MarkDownloadDigest = MarkPrefix + "download-digest"
	// MarkKubernetesVersion holds the Kubernetes version of the image.
	MarkKubernetesVersion = MarkPrefix + "kubernetes-version"
	// MarkImage holds namespace/name of the CloudStackImage.
	MarkImage = MarkPrefix + "image"
)

// LabelVersion encodes a version as a label value: + becomes _, which no version contains, so no two versions share one.
func LabelVersion(v KubernetesVersion) string {
	return strings.ReplaceAll(string(v), "+", "_")
}
