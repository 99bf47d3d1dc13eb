#!/bin/sh
# Looks once more at what the image is, from the inside. A build that fails here gives no image.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step smoke test

failed=0
# check WHAT COMMAND... runs the command in silence.
check() {
	what=$1
	shift
	if "$@" >/dev/null 2>&1; then
		echo "ok: $what"
	else
		echo "not ok: $what" >&2
		failed=$((failed + 1))
	fi
}
equal() { [ "$1" = "$2" ]; }
none() { [ -z "$(find "$@" -print -quit 2>/dev/null)" ]; }
no_swap() { [ "$(wc -l </proc/swaps)" -le 1 ] && ! grep -q -E '^[^#]*[[:space:]]swap[[:space:]]' /etc/fstab; }
# sshd wants to see a host key, and those of the image are gone.
sshd_accepts() {
	ssh-keygen -q -t ed25519 -N '' -f "$WORKPLACE/host-key" && mkdir -p /run/sshd && "$(command -v sshd)" -t -h "$WORKPLACE/host-key"
}
# The network of the build tells no domain, so asking for it is the hard case.
lives_without_domain() {
	python3 - <<-'PYTHON'
		from cloudinit import stages
		from cloudinit.sources.DataSourceCloudStack import DataSourceCloudStack

		init = stages.Init(ds_deps=[])
		init.read_cfg([])
		source = DataSourceCloudStack.__new__(DataSourceCloudStack)
		source.distro = init.distro
		if hasattr(source, "_get_domainname"):
		    source._get_domainname()
	PYTHON
}
# A source that is configured alone is asked, whatever the firmware says.
asks_alone() {
	python3 - <<-'PYTHON'
		from cloudinit.sources.DataSourceCloudStack import DataSourceCloudStack

		source = DataSourceCloudStack.__new__(DataSourceCloudStack)
		source.sys_cfg = {"datasource_list": ["CloudStack"]}
		if hasattr(source, "override_ds_detect") and not source.override_ds_detect():
		    raise SystemExit("not asked")
	PYTHON
}
masked() { equal "$(systemctl is-enabled "$1" 2>/dev/null)" masked; }

check "kubelet is $KUBERNETES_VERSION" equal "$("$BIN/kubelet" --version)" "Kubernetes $KUBERNETES_VERSION"
check "kubeadm is $KUBERNETES_VERSION" equal "$("$BIN/kubeadm" version --output short)" "$KUBERNETES_VERSION"
check "kubelet starts with the machine" systemctl is-enabled kubelet
check "containerd runs" systemctl is-active containerd
check "containerd answers" ctr version
case $CONTAINERD_VERSION in
distribution) ;;
*) check "containerd is $CONTAINERD_VERSION" equal "$(containerd --version | awk '{ print $3 }')" "v$CONTAINERD_VERSION" ;;
esac
check "runc is there" runc --version
check "CNI plugins are there" test -x /opt/cni/bin/bridge -a -x /opt/cni/bin/loopback
check "containerd leaves cgroups to systemd" grep -q 'SystemdCgroup = true' /etc/containerd/config.toml
check "cgroups are version 2" test -f /sys/fs/cgroup/cgroup.controllers
check "swap is off" no_swap
check "forwarding is on" equal "$(cat /proc/sys/net/ipv4/ip_forward)" 1
check "bridged packets are filtered" equal "$(cat /proc/sys/net/bridge/bridge-nf-call-iptables)" 1
if [ "$OS_FAMILY" != flatcar ]; then
	for source in CloudStack ConfigDrive VMware NoCloud; do
		check "cloud-init knows $source" python3 -c "import cloudinit.sources.DataSource$source"
		check "cloud-init asks $source" grep -q "^datasource_list:.*$source" /etc/cloud/cloud.cfg.d/99-capcat.cfg
	done
	check "cloud-init needs no domain name" lives_without_domain
	check "cloud-init is not held back" grep -q -x 'policy: enabled' /etc/cloud/ds-identify.cfg
	check "cloud-init asks CloudStack where the firmware does not name it" asks_alone
	check "the source is chosen before cloud-init" sh -c 'systemctl cat cloud-init-local.service | grep -q capcat-data-source && test -x /usr/local/sbin/capcat-data-source'
	check "the partition can grow" command -v growpart
	check "sshd accepts its configuration" sshd_accepts
fi
[ "$OS_FAMILY" != debian ] || check "packages do not change by themselves" masked apt-daily-upgrade.timer
check "no machine id" test ! -s /etc/machine-id
check "no host keys" none /etc/ssh -name 'ssh_host_*'
check "no authorised keys" none /root/.ssh /home -name 'authorized_keys*' -type f
check "no journal" none /var/log/journal -type f
check "no logs" none /var/log -type f -size +0
check "no package source of the build" sh -c "test -z '$PACKAGES_FROM' || ! grep -rqF '${PACKAGES_FROM:-none}' /etc"

[ $failed -eq 0 ] || fail "$failed checks of the smoke test failed"
rm -rf "$WORKPLACE"
sync
fstrim --all || true
