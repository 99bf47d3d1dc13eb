#!/bin/sh
# Fewer ways in, and nothing that changes the node behind Kubernetes' back.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step hardening

case $OS_FAMILY in
debian)
	put /etc/apt/apt.conf.d/99-capcat <<-'CONF'
		APT::Periodic::Enable "0";
		APT::Periodic::Update-Package-Lists "0";
		APT::Periodic::Unattended-Upgrade "0";
	CONF
	systemctl mask apt-daily.timer apt-daily-upgrade.timer apt-daily.service apt-daily-upgrade.service unattended-upgrades.service
	# Ubuntu's snaps bring themselves up to date.
	systemctl mask snapd.service snapd.socket snapd.seeded.service
	;;
redhat)
	systemctl mask dnf-automatic.timer dnf-automatic-install.timer dnf-makecache.timer
	# containerd's and kubelet's paths are not labelled by the policy.
	sed -i 's/^SELINUX=enforcing/SELINUX=permissive/' /etc/selinux/config
	systemctl disable --now firewalld 2>/dev/null || true
	;;
flatcar)
	systemctl mask update-engine.service locksmithd.service docker.service docker.socket
	;;
esac

if [ "$OS_FAMILY" != flatcar ]; then
	put /etc/ssh/sshd_config.d/10-capcat.conf 0600 <<-'CONF'
		PermitRootLogin prohibit-password
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PermitEmptyPasswords no
		X11Forwarding no
		MaxAuthTries 4
		LoginGraceTime 60
	CONF
	passwd --lock root >/dev/null
fi
put /etc/sysctl.d/91-hardening.conf <<-'CONF'
	kernel.kptr_restrict = 2
	kernel.dmesg_restrict = 1
	kernel.yama.ptrace_scope = 1
	kernel.unprivileged_bpf_disabled = 1
	fs.protected_hardlinks = 1
	fs.protected_symlinks = 1
	fs.suid_dumpable = 0
	net.ipv4.conf.all.accept_redirects = 0
	net.ipv4.conf.all.send_redirects = 0
	net.ipv4.conf.all.accept_source_route = 0
	net.ipv6.conf.all.accept_redirects = 0
	net.ipv6.conf.all.accept_source_route = 0
	net.ipv4.tcp_syncookies = 1
CONF
put /etc/systemd/coredump.conf.d/capcat.conf <<-'CONF'
	[Coredump]
	Storage=none
CONF
put /etc/modprobe.d/capcat.conf <<-'CONF'
	# Never needed by a node, and often attacked.
	install dccp /bin/false
	install rds /bin/false
	install tipc /bin/false
	install cramfs /bin/false
	install freevxfs /bin/false
	install hfs /bin/false
	install hfsplus /bin/false
	install jffs2 /bin/false
CONF
