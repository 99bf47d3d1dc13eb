package replay

import (
	"fmt"
	"strings"
)

// bindFrom takes names for ids out of an answer: those of the transcript, jobs, keys, sessions.
func (p *Player) bindFrom(s *Step, got *Reply) {
	for name, path := range s.Bind {
		if v := Dig(got.Body, path); v != nil {
			p.Bind(name, fmt.Sprint(v))
		}
	}
	envelope, _ := got.Body.(map[string]any)
	for _, inner := range envelope {
		if id, ok := Dig(inner, "jobid").(string); ok && s.command() != "queryAsyncJobResult" {
			p.takeLiteral(s, id)
			p.names[fmt.Sprintf("job%d", s.Step)] = id
			if _, have := p.symbols[id]; !have {
				p.symbols[id] = fmt.Sprintf("${job%d}", s.Step)
			}
		}
	}
	if s.KeysOf != "" {
		p.old[s.KeysOf] = p.keys[s.KeysOf]
		k := p.keys[s.KeysOf]
		k.APIKey, _ = Dig(got.Body, "registeruserkeysresponse.userkeys.apikey").(string)
		k.SecretKey, _ = Dig(got.Body, "registeruserkeysresponse.userkeys.secretkey").(string)
		p.keys[s.KeysOf] = k
	}
	if s.command() == "login" && got.Status == 200 {
		p.session, _ = Dig(got.Body, "loginresponse.sessionkey").(string)
		p.Bind("sessionkey", p.session)
		for _, c := range got.Cookies {
			p.cookies[c.Name] = c.Value
		}
	}
}

// takeLiteral notes what the job is here whose id the transcript writes out.
func (p *Player) takeLiteral(s *Step, id string) {
	envelope, _ := s.Body.(map[string]any)
	for _, inner := range envelope {
		if written, ok := Dig(inner, "jobid").(string); ok && !strings.HasPrefix(written, "${") {
			p.literal[written] = id
		}
	}
}
