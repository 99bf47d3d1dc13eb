// Package architecture keeps the rules on who may import whom, and what is linked, as tests.
package architecture
