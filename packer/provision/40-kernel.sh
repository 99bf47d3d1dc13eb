#!/bin/sh
# What the kernel must have and be told for Kubernetes, and an initial RAM disk that fits hardware other than this machine's.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step kernel

put /etc/modules-load.d/kubernetes.conf <<-'CONF'
	overlay
	br_netfilter
CONF
put /etc/sysctl.d/90-kubernetes.conf <<-'CONF'
	net.ipv4.ip_forward = 1
	net.ipv6.conf.all.forwarding = 1
	net.bridge.bridge-nf-call-iptables = 1
	net.bridge.bridge-nf-call-ip6tables = 1
	# What kubelet expects when protectKernelDefaults is on.
	vm.overcommit_memory = 1
	vm.panic_on_oom = 0
	kernel.panic = 10
	kernel.panic_on_oops = 1
	kernel.keys.root_maxkeys = 1000000
	kernel.keys.root_maxbytes = 25000000
	# Many pods watch many files.
	fs.inotify.max_user_instances = 8192
	fs.inotify.max_user_watches = 524288
CONF
modprobe overlay
modprobe br_netfilter
sysctl --quiet --load /etc/sysctl.d/90-kubernetes.conf

swapoff -a
if [ -f /etc/fstab ]; then
	sed -i -E '/^[^#]*[[:space:]]swap[[:space:]]/d' /etc/fstab
fi
systemctl mask swap.target

case $OS_FAMILY in
redhat)
	put /etc/dracut.conf.d/90-capcat.conf <<-'CONF'
		hostonly="no"
		add_drivers+=" virtio_blk virtio_scsi virtio_net xen-blkfront xen-netfront vmw_pvscsi vmxnet3 mptspi ahci ata_piix e1000 nvme "
	CONF
	dracut --force --regenerate-all
	;;
debian)
	# The base image's RAM disk has the drivers of all hardware, unless it was made with other settings.
	if [ -f /etc/initramfs-tools/update-initramfs.conf ]; then
		sed -i 's/^update_initramfs=no/update_initramfs=yes/' /etc/initramfs-tools/update-initramfs.conf
	fi
	if [ ! -f /etc/initramfs-tools/conf.d/capcat ]; then
		put /etc/initramfs-tools/conf.d/capcat <<-'CONF'
			MODULES=most
		CONF
		if ! grep -q -x 'MODULES=most' /etc/initramfs-tools/initramfs.conf; then
			update-initramfs -u -k all
		fi
	fi
	;;
esac
