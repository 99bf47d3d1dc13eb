#!/bin/sh
# How the machine learns at its first boot who it is.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step cloud-init

if [ "$OS_FAMILY" = flatcar ]; then
	# Ignition's platform: the data server or the ConfigDrive of CloudStack.
	oem=/oem
	[ -d "$oem" ] || oem=/usr/share/oem
	touch "$oem/grub.cfg"
	sed -i '/^set oem_id=/d' "$oem/grub.cfg"
	echo 'set oem_id="cloudstack"' >>"$oem/grub.cfg"
	# The unit that Cluster API has Ignition write calls kubeadm by its name, and says of containerd nothing.
	put /etc/systemd/system.conf.d/10-capcat.conf <<-CONF
		[Manager]
		DefaultEnvironment=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$BIN
	CONF
	put /etc/systemd/system/kubeadm.service.d/10-capcat.conf <<-'UNIT'
		[Unit]
		Requires=containerd.service
		After=containerd.service
	UNIT
	exit 0
fi

# The sources are tried in this order, and without a look at the hypervisor first: below VMware and XenServer CloudStack cannot be
# recognised by the names in the firmware.
put /etc/cloud/cloud.cfg.d/99-capcat.cfg <<-'YAML'
	datasource_list: [ConfigDrive, NoCloud, VMware, CloudStack, None]
	growpart:
	  mode: auto
	  devices: [/]
	resize_rootfs: true
	preserve_hostname: false
	# The packages of the image are its own; a node installs nothing when it starts.
	package_update: false
	package_upgrade: false
	# A network need not tell its domain. Asked for one, dhclient then has nothing to say; dhcpcd, which cloud-init 25 would rather
	# take, fails where the system holds the lease, and the data source of CloudStack with it.
	system_info:
	  network:
	    dhcp_client_priority: [dhclient, dhcpcd, udhcpc]
YAML
put /etc/cloud/ds-identify.cfg <<-'CONF'
	policy: enabled
CONF
# cloud-init is one process from 24.3 on; before, the first of its stages is the first to read the configuration.
install -m 0755 "$WORKPLACE/data-source.sh" /usr/local/sbin/capcat-data-source
for unit in cloud-init-main cloud-init-local; do
	put /etc/systemd/system/$unit.service.d/10-capcat.conf <<-'UNIT'
		[Service]
		ExecStartPre=-/usr/local/sbin/capcat-data-source
	UNIT
done
rm -f /etc/cloud/cloud-init.disabled /etc/cloud/cloud.cfg.d/*-installer.cfg /etc/cloud/cloud.cfg.d/90_dpkg.cfg
for unit in cloud-init-local cloud-init cloud-init-main cloud-init-network cloud-config cloud-final; do
	state=$(systemctl is-enabled "$unit.service" 2>/dev/null || true)
	if [ "$state" = disabled ]; then
		systemctl enable "$unit.service"
	fi
done
