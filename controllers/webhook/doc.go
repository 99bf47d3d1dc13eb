// Package webhook refuses at admission what the schema cannot see.
package webhook
