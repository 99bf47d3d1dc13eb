// Package scratch gives tests folders below the temporary one, and clears away those of earlier runs that ended without doing so.
package scratch
