// Package upgrade keeps a cluster from being upgraded to a version before its zones have the images.
package upgrade
