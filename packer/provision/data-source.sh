#!/bin/sh
# Runs in the node, before cloud-init. From 25.2 on cloud-init asks CloudStack's data server only where the firmware names CloudStack as the
# product, or where no other source is configured. Below VMware and XenServer the firmware names the hypervisor; there this makes
# CloudStack the only source of the boot, unless another has something to say. A folder in place of / is for tests.
set -eu
root=${1:-}
runtime=$root/run/cloud-init/cloud.cfg

firmware() { cat "$root/sys/class/dmi/id/$1" 2>/dev/null || true; }

# drive: a ConfigDrive, or the volume of NoCloud.
drive() { blkid -c /dev/null -o export | grep -q -i -x -E 'LABEL(_FATBOOT)?=(config-2|cidata)'; }

# told: the command line or the serial number names a source, or one was laid down.
told() {
	grep -q -E '(^| )(ci\.)?(ds|datasource)=' "$root/proc/cmdline" || firmware product_serial | grep -q 'ds=' ||
		[ -n "$(find "$root/var/lib/cloud/seed" -mindepth 1 -print -quit 2>/dev/null)" ]
}

# guestinfo: VMware hands over data by itself.
guestinfo() {
	for key in metadata userdata vendordata; do
		value=$(vmware-rpctool "info-get guestinfo.$key" 2>/dev/null) || continue
		case $value in
		'' | ---) ;;
		*) return 0 ;;
		esac
	done
	return 1
}

case $(firmware sys_vendor) in
VMware*) vmware=yes ;;
Xen*) vmware=no ;;
*) exit 0 ;;
esac
case $(firmware product_name) in
CloudStack*) exit 0 ;;
esac
if [ -e "$runtime" ] || told || drive; then
	exit 0
fi
if [ $vmware = yes ] && guestinfo; then
	exit 0
fi
mkdir -p "${runtime%/*}"
echo 'datasource_list: [CloudStack]' >"$runtime"
