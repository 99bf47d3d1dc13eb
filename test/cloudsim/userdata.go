package cloudsim

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// maxUserDataByGet is how much encoded user data a call by GET may carry.
const maxUserDataByGet = 4096

func (c *call) readUserData(d *deployment) error {
	r, registered := refer(c, c.userData, "userdataid")
	if registered && c.str("userdata") != "" {
		return invalid("Both userdata and userdata ID inputs are not allowed, please provide only one")
	}
	text := c.str("userdata")
	if r != nil {
		if !r.live() {
			return internal(`Cannot invoke "com.cloud.user.UserData.getUserData()" because "apiUserDataVO" is null`)
		}
		text = r.text
	}
	var err error
	d.m.registered = r
	d.m.userData, err = c.checkUserData(text)
	return err
}

// checkUserData reads user data: base64 of either alphabet, with or without padding, line feeds and percent escapes.
func (c *call) checkUserData(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if strings.Contains(text, "%") {
		plain, err := url.QueryUnescape(text)
		if err != nil {
			return "", badParam("%s", javaDecoderText(text))
		}
		text = plain
	}
	most := c.settingNumber("vm.userdata.max.length", 32768)
	switch {
	case !c.post && len(text) > maxUserDataByGet:
		return "", invalid("User data is too long for http GET request")
	case int64(len(text)) > most:
		return "", invalid("User data has exceeded configurable max length: %d", most)
	}
	raw, ok := decodeUserData(text)
	if !ok {
		return "", invalid("User data is not base64 encoded.")
	}
	return base64.StdEncoding.EncodeToString(raw), nil
}

func decodeUserData(text string) ([]byte, bool) {
	text = strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/", "=", "").Replace(text)
	raw, err := base64.RawStdEncoding.DecodeString(text)
	return raw, err == nil
}

// javaDecoderText is what Java says about a percent sign that begins no escape.
func javaDecoderText(text string) string {
	for rest := text; ; {
		i := strings.IndexByte(rest, '%')
		if i < 0 {
			return "URLDecoder: Incomplete trailing escape (%) pattern"
		}
		rest = rest[i+1:]
		if len(rest) < 2 {
			return "URLDecoder: Incomplete trailing escape (%) pattern"
		}
		for j := range 2 {
			if !strings.ContainsRune("0123456789abcdefABCDEF", rune(rest[j])) {
				return `URLDecoder: Illegal hex characters in escape (%) pattern - Error at index ` + string(rune('0'+j)) + ` in: "` + rest[:2] + `"`
			}
		}
	}
}

func getVirtualMachineUserData(c *call) (object, error) {
	m, _ := refer(c, c.machines, "virtualmachineid")
	switch {
	case m == nil:
		return nil, invalid("Unable to find virtual machine with id %s", c.str("virtualmachineid"))
	case !m.live():
		return nil, invalid("Unable to find virtual machine with id %d", m.db)
	}
	if err := c.mayUse(m.owner); err != nil {
		return nil, err
	}
	return obj("virtualmachineuserdata", obj("virtualmachineid", m.id).text("userdata", m.userData)), nil
}
