#!/bin/sh
# Brings the operating system up to date and installs the packages of os/<name>/packages.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step packages

if command -v cloud-init >/dev/null; then
	cloud-init status --wait >/dev/null 2>&1 || true
fi

# Where containerd is a release of its own, the distribution's would only be in the way.
wanted=$(cat "$WORKPLACE/packages")
if [ "$CONTAINERD_VERSION" != distribution ]; then
	wanted=$(echo "$wanted" | grep -v -x -e containerd -e runc || true)
fi
if [ "$CNI_PLUGINS_VERSION" != distribution ]; then
	wanted=$(echo "$wanted" | grep -v -x containernetworking-plugins || true)
fi

# offers says whether the mirror has a file. Not every base image has curl before its packages are there.
offers() {
	if command -v curl >/dev/null; then
		curl --fail --silent --head --location --connect-timeout 20 --retry 2 --retry-connrefused --output /dev/null "${PACKAGES_FROM%/}/$1"
	else
		wget --quiet --spider --tries 3 --timeout 20 "${PACKAGES_FROM%/}/$1"
	fi
}

# keep saves a folder of the system before the first change; the clean-up puts it back.
keep() {
	kept=$WORKPLACE/kept$1
	[ -d "$kept" ] && return 0
	mkdir -p "$kept"
	cp -a "$1/." "$kept/"
}

debian_mirror() {
	keep /etc/apt
	if offers "$OS_NAME/Packages.gz" || offers "$OS_NAME/Packages"; then
		rm -f /etc/apt/sources.list.d/*
		echo "deb [trusted=yes] ${PACKAGES_FROM%/}/$OS_NAME/ ./" >/etc/apt/sources.list
		return 0
	fi
	for list in /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/mirrors/*; do
		[ -f "$list" ] || continue
		grep -q -F "$PACKAGES_FROM" "$list" || sed -i -E "s|https?://|${PACKAGES_FROM%/}/|" "$list"
	done
}

redhat_mirror() {
	keep /etc/yum.repos.d
	if offers "$OS_NAME/repodata/repomd.xml"; then
		rm -f /etc/yum.repos.d/*
		printf '[%s]\nname=mirror\nbaseurl=%s/%s/\ngpgcheck=0\n' "$OS_NAME" "${PACKAGES_FROM%/}" "$OS_NAME" >/etc/yum.repos.d/mirror.repo
		return 0
	fi
	for repo in /etc/yum.repos.d/*.repo; do
		grep -q -F "$PACKAGES_FROM" "$repo" ||
			sed -i -E -e 's|^mirrorlist=|#mirrorlist=|' -e "s|^#?baseurl=https?://|baseurl=${PACKAGES_FROM%/}/|" "$repo"
	done
}

case $OS_FAMILY in
debian)
	systemctl stop apt-daily.timer apt-daily-upgrade.timer 2>/dev/null || true
	# Packages would write the initial RAM disk again and again, which takes minutes when the processor is emulated. A new kernel
	# still gets one, and the step "kernel" sets this back.
	if [ -f /etc/initramfs-tools/update-initramfs.conf ]; then
		sed -i 's/^update_initramfs=yes/update_initramfs=no/' /etc/initramfs-tools/update-initramfs.conf
	fi
	[ -z "$PACKAGES_FROM" ] || debian_mirror
	export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
	apt() { apt-get --quiet --yes -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-unsafe-io "$@"; }
	apt -o APT::Update::Error-Mode=any update || fail "the package lists could not be fetched"
	apt --with-new-pkgs upgrade || fail "packages could not be brought up to date"
	# shellcheck disable=SC2086 # one argument a package
	apt install --no-install-recommends $wanted || fail "packages could not be installed"
	;;
redhat)
	[ -z "$PACKAGES_FROM" ] || redhat_mirror
	dnf --quiet --assumeyes upgrade || fail "packages could not be brought up to date"
	# shellcheck disable=SC2086 # one argument a package
	dnf --quiet --assumeyes install --setopt=install_weak_deps=False $wanted || fail "packages could not be installed"
	;;
flatcar)
	[ -z "$wanted" ] || fail "Flatcar has no packages, but os/$OS_NAME/packages names some"
	;;
*) fail "os_family is debian, redhat or flatcar, not $OS_FAMILY" ;;
esac
