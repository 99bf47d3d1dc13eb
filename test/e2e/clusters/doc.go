// Package clusters tells the user stories of whole clusters: clusterctl, the managers of Cluster API and ours, and machines that boot.
// Its tests are built with the tag e2e, because they take minutes: make e2e.
package clusters
