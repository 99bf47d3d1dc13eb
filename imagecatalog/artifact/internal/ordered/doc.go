// Package ordered works on many pieces at once and hands the results on one after another, in order.
package ordered
