package cloudsim

import (
	"bytes"
	"fmt"
	"strings"
)

const xmlHead = `<?xml version="1.0" encoding="UTF-8"?>`

// writeXML renders a reply tree the way the server does where JSON was not asked for: elements repeat for the rows of a list,
// and the release stands on the root element of every good reply.
func writeXML(name string, body object, release string) []byte {
	var b bytes.Buffer
	b.WriteString(xmlHead)
	b.WriteString("<" + name)
	if release != "" {
		fmt.Fprintf(&b, ` cloud-stack-version="%s"`, escapeXML(release))
	}
	b.WriteString(">")
	xmlFields(&b, body)
	b.WriteString("</" + name + ">")
	return b.Bytes()
}

func xmlFields(b *bytes.Buffer, o object) {
	for _, f := range o {
		xmlValue(b, f.name, f.value)
	}
}

func xmlValue(b *bytes.Buffer, name string, v any) {
	switch v := v.(type) {
	case object:
		xmlElement(b, name, func() { xmlFields(b, v) })
	case []object:
		for _, row := range v {
			xmlElement(b, name, func() { xmlFields(b, row) })
		}
	case []string:
		for _, s := range v {
			xmlValue(b, name, s)
		}
	case []any:
		for _, s := range v {
			xmlValue(b, name, s)
		}
	case float64:
		xmlElement(b, name, func() { b.WriteString(javaDouble(v)) })
	default:
		xmlElement(b, name, func() { b.WriteString(escapeXML(fmt.Sprint(v))) })
	}
}

func xmlElement(b *bytes.Buffer, name string, inner func()) {
	name = xmlName(name)
	b.WriteString("<" + name + ">")
	inner()
	b.WriteString("</" + name + ">")
}

// xmlName keeps a document well-formed when a key of a map, which users choose, is no XML name.
func xmlName(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 0xBF {
			return r
		}
		return '_'
	}, s)
	if clean == "" || strings.ContainsRune("-.0123456789", rune(clean[0])) {
		return "_" + clean
	}
	return clean
}

func escapeXML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s)
}
