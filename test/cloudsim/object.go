package cloudsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// object is a JSON object that keeps the order of its fields, as the server's serializer does.
type object []field

// field holds a string, bool, int, int64, float64, object, []object or []string. A nil value is never written.
type field struct {
	name  string
	value any
}

// obj builds an object from alternating names and values; nil values are left out.
func obj(pairs ...any) object {
	o := make(object, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok {
			o = o.with(name, pairs[i+1])
		}
	}
	return o
}

// with appends a field unless its value is nil.
func (o object) with(name string, value any) object {
	if value == nil {
		return o
	}
	return append(o, field{name, value})
}

// text appends a string field unless it is empty.
func (o object) text(name, value string) object {
	if value == "" {
		return o
	}
	return append(o, field{name, value})
}

// get returns the value of a field, nil when it is absent.
func (o object) get(name string) any {
	for _, f := range o {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// str returns a string field, "" when it is absent or of another type.
func (o object) str(name string) string {
	s, _ := o.get(name).(string)
	return s
}

// without returns a copy that lacks the named fields.
func (o object) without(names ...string) object {
	out := make(object, 0, len(o))
next:
	for _, f := range o {
		for _, n := range names {
			if f.name == n {
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

// replace returns a copy in which the named field holds value; it is appended when absent.
func (o object) replace(name string, value any) object {
	out := make(object, len(o))
	copy(out, o)
	for i := range out {
		if out[i].name == name {
			out[i].value = value
			return out
		}
	}
	return out.with(name, value)
}

// MarshalJSON writes the fields in order, without HTML escapes.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := writeJSON(&b, o); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// UnmarshalJSON keeps the order of the fields. Numbers become int64 where they are whole.
func (o *object) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := readJSON(dec)
	if err != nil {
		return err
	}
	got, ok := v.(object)
	if !ok {
		return fmt.Errorf("reading an object: found %T", v)
	}
	*o = got
	return nil
}

func writeJSON(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case object:
		b.WriteByte('{')
		for i, f := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSONString(b, f.name); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := writeJSON(b, f.value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	case []object:
		return writeJSONArray(b, v)
	case []string:
		return writeJSONArray(b, v)
	case []any:
		return writeJSONArray(b, v)
	case string:
		return writeJSONString(b, v)
	case float64:
		b.WriteString(javaDouble(v))
		return nil
	default:
		data, err := json.Marshal(v)
		b.Write(data)
		return err
	}
}

func writeJSONArray[T any](b *bytes.Buffer, list []T) error {
	b.WriteByte('[')
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeJSON(b, v); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func writeJSONString(b *bytes.Buffer, s string) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the encoder ends every value with a line feed
	return nil
}

// javaDouble always shows a fraction, so that a client sees a floating point number: 0.0, not 0.
func javaDouble(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if v == float64(int64(v)) {
		s += ".0"
	}
	return s
}

func readJSON(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			return readJSONObject(dec)
		}
		return readJSONArray(dec)
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.Float64()
	default:
		return tok, nil
	}
}

func readJSONObject(dec *json.Decoder) (any, error) {
	o := object{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := readJSON(dec)
		if err != nil {
			return nil, err
		}
		o = o.with(fmt.Sprint(name), v)
	}
	_, err := dec.Token()
	return o, err
}

func readJSONArray(dec *json.Decoder) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := readJSON(dec)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.Token()
	return list, err
}

// stamp writes a time as the server does: second precision, zone without a colon.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05-0700") }
