#!/bin/sh
# Lists what the image holds, for its bill of materials: kind, name, version, architecture, licence, bytes.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step contents

row() { printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@"; }

# licences writes the first licence of each copyright file that machines can read: package, licence.
licences() {
	find /usr/share/doc -mindepth 2 -maxdepth 2 -name copyright -exec awk '
		FNR == 1 { readable = /^Format:/; n = split(FILENAME, path, "/"); package = path[n - 1] }
		readable && /^License:/ { sub(/^License:[ \t]*/, ""); gsub(/\t/, " "); print package "\t" $0; readable = 0 }' {} +
}

debian_packages() {
	licences >"$WORKPLACE/licences.tsv"
	dpkg-query --show --showformat '${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\t${Installed-Size}\n' |
		awk -F '\t' -v OFS='\t' -v list="$WORKPLACE/licences.tsv" '
			BEGIN { while ((getline line <list) > 0) { split(line, f, "\t"); licence[f[1]] = f[2] } }
			/^ii/ { print "deb", $2, $3, $4, licence[$2], $5 * 1024 }'
}

program() { # NAME VERSION LICENCE PATH
	[ -e "$4" ] || return 0
	row program "$1" "$2" "$ARCH" "$3" "$(stat -L -c %s "$4")"
}

{
	. /etc/os-release
	row system "$OS_NAME" "${VERSION_ID:-}" "$ARCH" '' 0
	row kernel linux "$(find /lib/modules -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)" "$ARCH" GPL-2.0-only 0
	for name in kubeadm kubelet kubectl; do
		program "$name" "$KUBERNETES_VERSION" Apache-2.0 "$BIN/$name"
	done
	program containerd "$(containerd --version | awk '{ print $3 }')" Apache-2.0 "$(command -v containerd)"
	program runc "$(runc --version | awk 'NR == 1 { print $3 }')" Apache-2.0 "$(command -v runc)"
	cni=v$CNI_PLUGINS_VERSION
	if [ "$CNI_PLUGINS_VERSION" = distribution ]; then
		cni=$(dpkg-query --show --showformat '${Version}' containernetworking-plugins)
	fi
	program cni-plugins "$cni" Apache-2.0 /opt/cni/bin/bridge
	[ "$CRICTL_VERSION" = none ] || program crictl "v$CRICTL_VERSION" Apache-2.0 "$BIN/crictl"
	if command -v cloud-init >/dev/null; then
		row program cloud-init "$(cloud-init --version 2>&1 | awk '{ print $NF }')" all 'Apache-2.0 OR GPL-3.0-only' 0
	fi
	ctr --namespace k8s.io images list | awk 'NR > 1 && $1 !~ /^sha256:/ { split($0, f, " "); n = split($1, p, ":"); print "image\t" substr($1, 1, length($1) - length(p[n]) - 1) "\t" p[n] "\t" arch "\t\t0" }' arch="$ARCH"
	case $OS_FAMILY in
	debian) debian_packages ;;
	redhat) rpm --query --all --queryformat 'rpm\t%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\t%{LICENSE}\t%{SIZE}\n' ;;
	esac
} >"$WORKPLACE/contents.tsv"
chmod 0644 "$WORKPLACE/contents.tsv"
echo "the image holds $(wc -l <"$WORKPLACE/contents.tsv") parts"
