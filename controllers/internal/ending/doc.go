// Package ending says how a reconcile ends that a call to CloudStack or a lack of something ends, and how its conditions tell.
package ending
