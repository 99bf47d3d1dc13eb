package bzip2

const (
	maxTrees   = 6
	maxSymbols = 258
	maxCodeLen = 20
	groupSize  = 50 // symbols decoded with one tree before the next is selected
	fastBits   = 10
)

// A token is what one look into a tree's table yields: any number of run symbols, then at most one other symbol. Its fields, from
// the lowest bit: 5 bits length of the codes together, 6 bits number of symbols, 11 bits what the run symbols add to a run that
// begins with them, 9 bits the last symbol or zero. The zero token stands for codes longer than the table's index.
type token uint32

const (
	tokenCount  = 5
	tokenRun    = tokenCount + 6
	tokenSymbol = tokenRun + 11
)

func (t token) length() uint { return uint(t & 31) }
func (t token) count() int   { return int(t >> tokenCount & 63) }
func (t token) run() uint    { return uint(t >> tokenRun & 2047) }
func (t token) symbol() uint { return uint(t >> tokenSymbol) }

// tree decodes one prefix code. Codes are canonical; as in the original bzip2 their lengths need not make a complete code: what
// lies beyond the last code is an error when it occurs in the data, and codes that do not fit are never reached.
type tree struct {
	tokens [1 << fastBits]token
	limit  [maxCodeLen + 1]uint32 // first left-aligned code of 20 bits that is longer than the index
	base   [maxCodeLen + 1]int32  // index into symbols minus code
	sorted [maxSymbols]uint16     // symbols by length of code
	single [1 << fastBits]uint16  // one symbol and its length, while tokens is built
}

// build prepares the tree for codes of these lengths, each 1 to maxCodeLen.
func (t *tree) build(lengths []uint8) {
	var count [maxCodeLen + 1]int32
	for _, l := range lengths {
		count[l]++
	}
	var first [maxCodeLen + 1]int32
	code, index := int32(0), int32(0)
	for l := 1; l <= maxCodeLen; l++ {
		first[l] = index
		t.base[l] = index - code
		code += count[l]
		index += count[l]
		t.limit[l] = uint32(code) << (maxCodeLen - l)
		code <<= 1
	}
	for s, l := range lengths {
		t.sorted[first[l]] = uint16(s)
		first[l]++
	}
	t.fill(lengths, index)
	t.combine()
}

// fill sets single for codes of at most fastBits.
func (t *tree) fill(lengths []uint8, symbols int32) {
	at := 0
	for _, s := range t.sorted[:symbols] {
		l := lengths[s]
		if l > fastBits || at == len(t.single) {
			break
		}
		end := min(at+1<<(fastBits-l), len(t.single))
		for i := range t.single[at:end] {
			t.single[at+i] = s<<5 | uint16(l)
		}
		at = end
	}
	clear(t.single[at:])
}

// combine makes tokens of single symbols: run symbols as long as they are known from the index, and what ends them.
func (t *tree) combine() {
	for i := range t.tokens {
		var length, count, run uint
		var symbol token
		for bits := i; ; {
			e := t.single[bits&(len(t.single)-1)]
			l := uint(e & 31)
			if e == 0 || length+l > fastBits {
				break
			}
			length += l
			bits <<= l
			if s := e >> 5; s > runB {
				count++
				symbol = token(s)
				break
			}
			run += uint(e>>5+1) << count
			count++
		}
		t.tokens[i] = symbol<<tokenSymbol | token(run)<<tokenRun | token(count)<<tokenCount | token(length)
	}
}

// slow decodes one symbol, whatever the length of its code. It returns the zero token for a code that means nothing.
func (t *tree) slow(acc uint64) token {
	code := uint32(acc >> (64 - maxCodeLen))
	for l := 1; l <= maxCodeLen; l++ {
		if code >= t.limit[l] {
			continue
		}
		s := token(t.sorted[int32(code>>(maxCodeLen-l))+t.base[l]])
		if s > runB {
			return s<<tokenSymbol | 1<<tokenCount | token(l)
		}
		return (s+1)<<tokenRun | 1<<tokenCount | token(l)
	}
	return 0
}
