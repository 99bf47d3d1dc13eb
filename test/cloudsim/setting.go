package cloudsim

// settingNumber reads a numeric setting.
func (s *Server) settingNumber(name string, def int64) int64 {
	if n, ok := number(s.settings[name]); ok {
		return n
	}
	return def
}

// settingTrue reads a switch.
func (s *Server) settingTrue(name string) bool { return s.settings[name] == "true" }

// Set changes a global setting. Those that the server reads only when it starts take effect after Restart.
func (s *Server) Set(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings[name] = value
}
