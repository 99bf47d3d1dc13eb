// Package builder makes API objects for tests: minimal and valid, with one option a change.
package builder
