#!/bin/sh
# Makes a bootable disk out of Debian packages alone: no cloud image, no loop device, no mount. What comes out is a base image for
# `capcat build debian-12 --base-image OUT` (or debian-13). It boots with BIOS; grub's core lies in the gap before the partition.
#
#   debian.sh -o OUT.qcow2 [-s SUITE] [-m MIRROR] [-z SIZE_MB] [-d DIR "PACKAGE..."]
#
#   -o  the disk image to write
#   -s  bookworm (default) or trixie
#   -m  where the packages come from, with the folders debian and debian-security (default http://deb.debian.org)
#   -z  size of the disk in MiB (default 3072); it grows at the first boot
#   -d  also fetches the named packages, with all they need beyond the base, into this folder
set -eu

suite=bookworm mirror=http://deb.debian.org size=3072 out='' downloads=''
while getopts o:s:m:z:d: option; do
	case $option in
	o) out=$OPTARG ;;
	s) suite=$OPTARG ;;
	m) mirror=${OPTARG%/} ;;
	z) size=$OPTARG ;;
	d) downloads=$OPTARG ;;
	*) sed -n '5,11s/^# *//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ -n "$out" ] || { echo "debian.sh: -o OUT.qcow2 is missing" >&2; exit 2; }
# Tools of the administrator are not in everybody's path.
PATH=$PATH:/usr/sbin:/sbin
for tool in mmdebstrap sfdisk mke2fs grub-mkimage qemu-img; do
	command -v "$tool" >/dev/null || {
		echo "debian.sh: $tool is missing: apt-get install mmdebstrap fdisk e2fsprogs grub-common qemu-utils" >&2
		exit 1
	}
done

work=$(mktemp -d "$(dirname "$out")/.base-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

packages=linux-image-amd64,systemd,systemd-sysv,systemd-resolved,udev,dbus,netplan.io,openssh-server,sudo,cloud-init,cloud-guest-utils
packages=$packages,iproute2,netbase,ca-certificates,curl,e2fsprogs,fdisk,grub-pc-bin,grub2-common,initramfs-tools,zstd,procps,kmod
set -- "$@" # the packages to fetch
if [ -n "$downloads" ]; then
	mkdir -p "$downloads"
	cat >"$work/fetch" <<HOOK
#!/bin/sh
set -e
export APT_CONFIG="\$MMDEBSTRAP_APT_CONFIG"
apt-get install --yes --quiet --quiet --download-only --no-install-recommends -o Dir::Cache::archives="$work/debs" $*
HOOK
	chmod 755 "$work" "$work/fetch"
	mkdir -p "$work/debs/partial"
	set -- --customize-hook="$work/fetch"
else
	set --
fi
mmdebstrap --variant=minbase --format=directory --components=main --include="$packages" "$@" "$suite" "$work/root" \
	"deb $mirror/debian $suite main" "deb $mirror/debian $suite-updates main" "deb $mirror/debian-security $suite-security main"

root=$work/root
: >"$root/etc/machine-id"
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/hostname" "$root/var/lib/dbus/machine-id"
echo 'LABEL=root / ext4 defaults,errors=remount-ro 0 1' >"$root/etc/fstab"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
# There is no package "locales": asking for one would make cloud-init report an error.
echo 'locale: false' >"$root/etc/cloud/cloud.cfg.d/50-no-locale.cfg"
cat >"$root/etc/apt/sources.list" <<LIST
deb http://deb.debian.org/debian $suite main
deb http://deb.debian.org/debian $suite-updates main
deb http://deb.debian.org/debian-security $suite-security main
LIST

# The kernel's links follow its upgrades, so the menu never changes.
mkdir -p "$root/boot/grub"
for link in vmlinuz initrd.img; do
	[ -e "$root/$link" ] || [ -L "$root/$link" ] || { echo "debian.sh: the kernel's package left no /$link" >&2; exit 1; }
done
cat >"$root/boot/grub/grub.cfg" <<'CFG'
set timeout=1
serial --unit=0 --speed=115200
terminal_input console serial
terminal_output console serial
search --no-floppy --set=root --label root
menuentry "Linux" {
	linux /vmlinuz root=LABEL=root ro console=tty0 console=ttyS0,115200 net.ifnames=0
	initrd /initrd.img
}
CFG

truncate -s "${size}M" "$work/disk.raw"
echo 'start=2048, type=83, bootable' | sfdisk --quiet "$work/disk.raw"
# The features that the grub of the suite cannot read are left out.
features=^metadata_csum_seed
[ "$suite" = bookworm ] || features=^metadata_csum_seed,^orphan_file
mke2fs -q -t ext4 -L root -O "$features" -d "$root" -E offset=1048576 "$work/disk.raw" $(((size - 1) * 1024))k
grub=$root/usr/lib/grub/i386-pc
echo 'configfile (hd0,msdos1)/boot/grub/grub.cfg' >"$work/early.cfg"
grub-mkimage -d "$grub" -O i386-pc -p '(hd0,msdos1)/boot/grub' -c "$work/early.cfg" -o "$work/core.img" \
	biosdisk part_msdos ext2 linux normal serial terminal configfile search search_label boot echo
dd if="$grub/boot.img" of="$work/disk.raw" bs=440 count=1 conv=notrunc status=none
dd if="$work/core.img" of="$work/disk.raw" bs=512 seek=1 conv=notrunc status=none
qemu-img convert -O qcow2 "$work/disk.raw" "$work/base.qcow2"
if [ -n "$downloads" ]; then
	find "$work/debs" -maxdepth 1 -name '*.deb' -exec mv {} "$downloads/" \;
fi
mv "$work/base.qcow2" "$out"
