// Package secondarystorage behaves as CloudStack's secondary storage VM does when it downloads, receives and installs templates.
package secondarystorage
