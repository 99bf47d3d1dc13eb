package build

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// The parts of SPDX 2.3 that a bill of materials of an image needs.
type spdxDocument struct {
	SPDXVersion   string             `json:"spdxVersion"`
	DataLicense   string             `json:"dataLicense"`
	SPDXID        string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	CreationInfo  spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	SPDXID           string         `json:"SPDXID"`
	Name             string         `json:"name"`
	Version          string         `json:"versionInfo,omitempty"`
	Purpose          string         `json:"primaryPackagePurpose,omitempty"`
	DownloadLocation string         `json:"downloadLocation"`
	FilesAnalyzed    bool           `json:"filesAnalyzed"`
	LicenseConcluded string         `json:"licenseConcluded"`
	LicenseDeclared  string         `json:"licenseDeclared"`
	LicenseComments  string         `json:"licenseComments,omitempty"`
	Copyright        string         `json:"copyrightText"`
	Comment          string         `json:"comment,omitempty"`
	Checksums        []spdxChecksum `json:"checksums,omitempty"`
	References       []spdxRef      `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const noAssertion = "NOASSERTION"

// billOfMaterials lists what is in the image. The digest of one of its files makes the name of the document unique.
func (p plan) billOfMaterials(parts []part, digest artifact.Digest, now time.Time) ([]byte, error) {
	const document, image = "SPDXRef-DOCUMENT", "SPDXRef-Image"
	d := spdxDocument{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: document, Name: p.Name,
		Namespace:    "https://capcat.github.io/spdx/" + url.PathEscape(p.Name) + "-" + digest.Hex,
		CreationInfo: spdxCreation{Created: now.UTC().Format(time.RFC3339), Creators: []string{"Tool: capcat"}},
		Packages: []spdxPackage{{
			SPDXID: image, Name: p.Name, Version: p.KubernetesVersion, Purpose: "OPERATING-SYSTEM", DownloadLocation: noAssertion,
			LicenseConcluded: noAssertion, LicenseDeclared: noAssertion, Copyright: noAssertion,
			Checksums: []spdxChecksum{{Algorithm: strings.ToUpper(string(digest.Algorithm)), Value: digest.Hex}},
		}},
		Relationships: []spdxRelationship{{Element: document, Type: "DESCRIBES", Related: image}},
	}
	for i, part := range parts {
		id := fmt.Sprintf("SPDXRef-%d-%s", i+1, unfit.ReplaceAllString(part.Name, "-"))
		d.Packages = append(d.Packages, part.spdx(id, p.OS))
		d.Relationships = append(d.Relationships, spdxRelationship{Element: image, Type: "CONTAINS", Related: id})
	}
	return json.MarshalIndent(d, "", "  ")
}

// unfit is what may not stand in the id of an element.
var unfit = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func (c part) spdx(id, os string) spdxPackage {
	licence, known := spdxLicence(c.Licence)
	out := spdxPackage{
		SPDXID: id, Name: c.Name, Version: c.Version, DownloadLocation: noAssertion,
		LicenseConcluded: noAssertion, LicenseDeclared: licence, Copyright: noAssertion,
	}
	if !known && c.Licence != "" {
		out.LicenseComments = "the package itself says: " + c.Licence
	}
	if c.Bytes > 0 {
		out.Comment = fmt.Sprintf("%d bytes in the image", c.Bytes)
	}
	if purl := c.purl(os); purl != "" {
		out.References = []spdxRef{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: purl}}
	}
	return out
}

// purl names the part for scanners.
func (c part) purl(os string) string {
	distribution, _, _ := strings.Cut(os, "-")
	version := url.QueryEscape(c.Version)
	switch c.Kind {
	case "deb", "rpm":
		return fmt.Sprintf("pkg:%s/%s/%s@%s?arch=%s&distro=%s", c.Kind, distribution, url.PathEscape(c.Name), version, c.Arch, os)
	case "image":
		repository := c.Name
		name := repository[strings.LastIndexByte(repository, '/')+1:]
		return fmt.Sprintf("pkg:docker/%s@%s?repository_url=%s", url.PathEscape(name), version, url.QueryEscape(repository))
	case "program":
		return fmt.Sprintf("pkg:generic/%s@%s", url.PathEscape(c.Name), version)
	}
	return ""
}

// spdxLicence turns Debian's short names into SPDX's. What is no single well-known licence is left to the comment.
func spdxLicence(name string) (string, bool) {
	names := map[string]string{
		"Expat": "MIT", "MIT": "MIT", "ISC": "ISC", "Zlib": "Zlib", "zlib": "Zlib", "Artistic": "Artistic-1.0-Perl", "curl": "curl", "PSF-2": "PSF-2.0",
		"BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause", "BSD-2-Clause": "BSD-2-Clause", "BSD-3-Clause": "BSD-3-Clause",
		"Apache-2.0": "Apache-2.0", "Apache-2": "Apache-2.0", "MPL-2.0": "MPL-2.0", "MPL-1.1": "MPL-1.1", "OpenSSL": "OpenSSL",
		"GPL-2.0-only": "GPL-2.0-only", "Apache-2.0 OR GPL-3.0-only": "Apache-2.0 OR GPL-3.0-only",
	}
	for family, versions := range map[string][]string{"GPL": {"1", "2", "3"}, "LGPL": {"2", "2.1", "3"}} {
		for _, v := range versions {
			full := v
			if !strings.Contains(full, ".") {
				full += ".0"
			}
			for _, short := range []string{v, full} {
				names[family+"-"+short] = family + "-" + full + "-only"
				names[family+"-"+short+"+"] = family + "-" + full + "-or-later"
			}
		}
	}
	if id, found := names[name]; found {
		return id, true
	}
	for _, join := range []string{" or ", " and "} {
		parts := strings.Split(name, join)
		for i, part := range parts {
			id, found := names[part]
			if !found {
				parts = nil
				break
			}
			parts[i] = id
		}
		if len(parts) > 1 {
			return strings.Join(parts, strings.ToUpper(join)), true
		}
	}
	return noAssertion, false
}
