package cloudsim

import (
	"crypto/md5"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// keyPair is the public half of an SSH key pair.
type keyPair struct {
	base
	owner             *account
	name, key, finger string
}

// publicKeyPattern takes the comment off a public key; more than its syntax is not looked at.
func publicKeyPattern() *regexp.Regexp {
	return regexp.MustCompile(`^((ssh-(rsa|dss|ed25519)|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+={0,3})(\s.*)?$`)
}

func (s *Server) findKeyPair(owner *account, name string) *keyPair {
	for _, k := range s.keyPairs.rows {
		if k.owner == owner && strings.EqualFold(k.name, name) {
			return k
		}
	}
	return nil
}

func registerSSHKeyPair(c *call) (object, error) {
	owner, err := c.ownerTwice()
	if err != nil {
		return nil, err
	}
	parts := publicKeyPattern().FindStringSubmatch(strings.Join(strings.Fields(c.str("publickey")), " "))
	if parts == nil {
		return nil, invalid("Public key is invalid")
	}
	if c.findKeyPair(owner, c.str("name")) != nil {
		return nil, invalid("A key pair with name '%s' already exists for this account.", c.str("name"))
	}
	for _, k := range c.keyPairs.rows {
		if k.owner == owner && k.key == parts[1] {
			return nil, invalid("A key pair with key '%s' already exists for this account.", strings.TrimSpace(c.str("publickey")))
		}
	}
	return obj("keypair", c.keyPairObject(c.addKeyPair(owner, parts[1]))), nil
}

func (c *call) addKeyPair(owner *account, key string) *keyPair {
	return c.keyPairs.insert(&keyPair{base: c.newBase(), owner: owner, name: c.str("name"), key: key, finger: fingerprint(key)})
}

// fingerprint is the MD5 of a public key's bytes in the old notation.
func fingerprint(key string) string {
	_, encoded, _ := strings.Cut(key, " ")
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil {
		raw = []byte(encoded)
	}
	sum := md5.Sum(raw)
	hex := make([]string, len(sum))
	for i, b := range sum {
		hex[i] = string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15])
	}
	return strings.Join(hex, ":")
}

func createSSHKeyPair(c *call) (object, error) {
	owner, err := c.ownerTwice()
	if err != nil {
		return nil, err
	}
	if c.findKeyPair(owner, c.str("name")) != nil {
		return nil, invalid("A key pair with name '%s' already exists.", c.str("name"))
	}
	private, public, err := c.makeKey()
	if err != nil {
		return nil, internal("Unable to create key pair: %v", err)
	}
	return obj("keypair", append(obj("privatekey", private), c.keyPairObject(c.addKeyPair(owner, public))...)), nil
}

// makeKey makes an RSA key pair: the private half in PEM, the public one as SSH writes it.
func (c *call) makeKey() (private, public string, err error) {
	key, err := rsa.GenerateKey(nil, 2048)
	if err != nil {
		return "", "", err
	}
	private = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	var wire []byte
	for _, part := range [][]byte{[]byte("ssh-rsa"), big.NewInt(int64(key.E)).Bytes(), append([]byte{0}, key.N.Bytes()...)} {
		wire = append(binary.BigEndian.AppendUint32(wire, uint32(len(part))), part...)
	}
	return private, "ssh-rsa " + base64.StdEncoding.EncodeToString(wire), nil
}

func (c *call) keyPairObject(k *keyPair) object {
	o := obj("id", k.id, "name", k.name)
	o = append(o, c.ownerFields(k.owner, "account")...)
	return append(o, obj("domainid", k.owner.domain.id, "domain", k.owner.domain.name, "fingerprint", k.finger, "hasannotations", false)...)
}

// listSSHKeyPairs shows the youngest first.
func listSSHKeyPairs(c *call) (object, error) {
	owner, err := c.scopeOf(scopeOwn)
	if err != nil {
		return nil, err
	}
	wanted := refersTo(c, c.keyPairs, "id")
	rows := c.keyPairs.all(func(k *keyPair) bool {
		return owner(k.owner) && wanted(k) && allOf(c.text("name", k.name), c.text("fingerprint", k.finger), c.keyword(k.name, k.finger))
	})
	slices.Reverse(rows)
	return pageOf(c, "sshkeypair", rows, c.keyPairObject)
}

func deleteSSHKeyPair(c *call) (object, error) {
	owner, err := c.ownerTwice()
	if err != nil {
		return nil, err
	}
	k := c.findKeyPair(owner, c.str("name"))
	if k == nil {
		return nil, invalid("A key pair with name '%s' does not exist for account %s in specified domain id", c.str("name"), owner.name).about("domainId", owner.domain.id)
	}
	c.keyPairs.drop(k)
	return success(), nil
}

// checkKeys finds the key pairs of a deploy, those of both parameters.
func (c *call) checkKeys(d *deployment) error { return c.takeKeys(d.m) }

// takeKeys notes keys in the details of a machine: youngest pair first, names in the order of the call.
func (c *call) takeKeys(m *machine) error {
	names := append(c.list("keypairs"), splitTrim(c.str("keypair"))...)
	if len(names) == 0 {
		return nil
	}
	found := map[*keyPair]bool{}
	for _, name := range names {
		k := c.findKeyPair(m.owner, name)
		if k == nil || found[k] {
			return invalid("Not all specified keypairs exist")
		}
		found[k] = true
	}
	var keys []string
	for _, k := range slices.Backward(c.keyPairs.rows) {
		if found[k] {
			keys = append(keys, k.key)
		}
	}
	m.details[detailKeys], m.details[detailKeyNames] = strings.Join(keys, "\n"), strings.Join(names, ",")
	return nil
}

// resetSSHKeyForVirtualMachine gives a stopped machine other keys.
func resetSSHKeyForVirtualMachine(c *call) (*work, error) {
	m, err := c.ownMachine()
	if err != nil {
		return nil, err
	}
	if m.state != machineStopped && m.state != machineError {
		return nil, invalid("Vm %s should be stopped to do SSH Key reset", m.printed(c.Server))
	}
	return &work{instanceType: "VirtualMachine", instanceID: m.id, queue: "vm/" + m.id, run: func() (object, error) {
		if err := c.takeKeys(m); err != nil {
			return nil, err
		}
		return obj("virtualmachine", c.machineAfter(m)), nil
	}}, nil
}
