#!/bin/sh
# Takes away what belongs to this machine and not to the image. The connection to Packer stays open; nobody can make a new one.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step clean-up

# put_back DIR restores what the step "packages" saved.
put_back() {
	if [ -d "$WORKPLACE/kept$1" ]; then
		find "$1" -mindepth 1 -delete
		cp -a "$WORKPLACE/kept$1/." "$1/"
	fi
}

case $OS_FAMILY in
debian)
	cp /etc/apt/apt.conf.d/99-capcat "$WORKPLACE/99-capcat"
	put_back /etc/apt
	mv "$WORKPLACE/99-capcat" /etc/apt/apt.conf.d/99-capcat
	apt-get --quiet --yes autoremove --purge
	apt-get clean
	rm -rf /var/lib/apt/lists/*
	;;
redhat)
	put_back /etc/yum.repos.d
	dnf --quiet clean all
	rm -rf /var/cache/dnf
	;;
flatcar)
	# Ignition runs again at the next boot.
	touch /boot/flatcar/first_boot
	;;
esac

if command -v cloud-init >/dev/null; then
	cloud-init clean --logs --seed
fi
rm -f /etc/netplan/50-cloud-init.yaml /etc/network/interfaces.d/50-cloud-init /etc/NetworkManager/system-connections/*
rm -f /etc/ssh/sshd_config.d/50-cloud-init.conf /etc/sudoers.d/90-cloud-init-users
rm -f /etc/ssh/ssh_host_* /root/.ssh/authorized_keys /home/*/.ssh/authorized_keys /home/*/.ssh/authorized_keys.d/*
rm -f /root/.*_history /home/*/.*_history /var/lib/systemd/random-seed /var/lib/dhcp/* /var/lib/NetworkManager/*.lease
rm -rf /tmp/* /var/lib/cloud/* /run/cloud-init/.* 2>/dev/null || true
if [ "$OS_FAMILY" = flatcar ]; then
	# Only a machine that has no such file is new to systemd, and only then are the units enabled that Ignition wants enabled.
	rm -f /etc/machine-id
else
	: >/etc/machine-id
fi
rm -f /var/lib/dbus/machine-id
[ "$OS_FAMILY" = flatcar ] || : >/etc/hostname

# From now on the journal is written to memory only, until the next boot.
put /run/systemd/journald.conf.d/capcat.conf <<-'CONF'
	[Journal]
	Storage=volatile
CONF
systemctl restart systemd-journald
# Programs that write logs of their own would begin anew with the end of this step. They are back with the next boot.
systemctl stop syslog.socket rsyslog.service 2>/dev/null || true
systemctl kill auditd.service 2>/dev/null || true # it cannot be stopped otherwise
tries=50
while systemctl is-active --quiet auditd.service && [ $tries -gt 0 ]; do
	tries=$((tries - 1))
	sleep 0.2
done
find /var/log -type f ! -path '/var/log/journal/*' -exec truncate --size 0 {} +
find /var/log -type f \( -name '*.gz' -o -name '*.[0-9]' -o -name '*.old' \) -delete
find /var/log/journal -mindepth 1 -delete 2>/dev/null || true
