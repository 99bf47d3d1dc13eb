#!/bin/sh
# kubelet, kubeadm and kubectl as Kubernetes releases them, the CNI plugins and crictl.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step kubernetes

for program in kubeadm kubelet kubectl; do
	url=https://dl.k8s.io/release/$KUBERNETES_VERSION/bin/linux/$ARCH/$program
	if [ ! -f "$WORKPLACE/$program-$KUBERNETES_VERSION" ]; then
		fetch_proven "$url" "$WORKPLACE/$program" "$url.sha256"
		install -m 0755 "$WORKPLACE/$program" "$BIN/$program"
		rm "$WORKPLACE/$program"
		: >"$WORKPLACE/$program-$KUBERNETES_VERSION" # need not be fetched again
	fi
done
has=$("$BIN/kubeadm" version --output short)
[ "$has" = "$KUBERNETES_VERSION" ] || fail "the kubeadm that was fetched says it is $has, not $KUBERNETES_VERSION"

if [ "$CNI_PLUGINS_VERSION" = distribution ]; then
	[ -d /usr/lib/cni ] || fail "$OS_TITLE has no CNI plugins of its own: give cni_plugins_version"
	for plugin in /usr/lib/cni/*; do
		ln -sf "$plugin" "/opt/cni/bin/${plugin##*/}"
	done
else
	base=https://github.com/containernetworking/plugins/releases/download/v$CNI_PLUGINS_VERSION
	file=cni-plugins-linux-$ARCH-v$CNI_PLUGINS_VERSION.tgz
	fetch_proven "$base/$file" "$WORKPLACE/$file" "$base/$file.sha256"
	tar -C /opt/cni/bin --no-same-owner -xzf "$WORKPLACE/$file"
fi

if [ "$CRICTL_VERSION" != none ]; then
	base=https://github.com/kubernetes-sigs/cri-tools/releases/download/v$CRICTL_VERSION
	file=crictl-v$CRICTL_VERSION-linux-$ARCH.tar.gz
	fetch_proven "$base/$file" "$WORKPLACE/$file" "$base/$file.sha256"
	tar -C "$BIN" --no-same-owner -xzf "$WORKPLACE/$file" crictl
	put /etc/crictl.yaml <<-'YAML'
		runtime-endpoint: unix:///run/containerd/containerd.sock
		image-endpoint: unix:///run/containerd/containerd.sock
	YAML
fi

put /etc/systemd/system/kubelet.service <<-UNIT
	[Unit]
	Description=kubelet: the Kubernetes node agent
	Documentation=https://kubernetes.io/docs/
	Wants=network-online.target containerd.service
	After=network-online.target containerd.service
	# kubeadm writes it and then starts kubelet, which without it would only die again and again.
	ConditionPathExists=/var/lib/kubelet/config.yaml

	[Service]
	ExecStart=$BIN/kubelet
	Restart=always
	StartLimitInterval=0
	RestartSec=10

	[Install]
	WantedBy=multi-user.target
UNIT
# What kubeadm writes at "init" and "join" is read from here.
put /etc/systemd/system/kubelet.service.d/10-kubeadm.conf <<-UNIT
	[Service]
	Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
	Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
	EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
	EnvironmentFile=-/etc/default/kubelet
	EnvironmentFile=-/etc/sysconfig/kubelet
	ExecStart=
	ExecStart=$BIN/kubelet \$KUBELET_KUBECONFIG_ARGS \$KUBELET_CONFIG_ARGS \$KUBELET_KUBEADM_ARGS \$KUBELET_EXTRA_ARGS
UNIT
mkdir -p /etc/kubernetes/manifests /var/lib/kubelet
systemctl daemon-reload
systemctl enable kubelet

# kubelet and the controller manager make a folder for volume plugins below /usr/libexec, and do not start where they cannot.
if [ "$OS_FAMILY" = flatcar ]; then
	mkdir -p /opt/libexec /opt/libexec.work
	put /etc/systemd/system/usr-libexec.mount <<-'UNIT'
		[Unit]
		Description=Volume plugins of kubelet, over what cannot be written
		After=systemd-sysext.service
		Before=kubelet.service kubeadm.service

		[Mount]
		What=overlay
		Where=/usr/libexec
		Type=overlay
		Options=lowerdir=/usr/libexec,upperdir=/opt/libexec,workdir=/opt/libexec.work

		[Install]
		WantedBy=multi-user.target
	UNIT
	systemctl daemon-reload
	systemctl enable --now usr-libexec.mount
fi

pause=$("$BIN/kubeadm" config images list --kubernetes-version "$KUBERNETES_VERSION" --image-repository "$IMAGE_REGISTRY" | grep '/pause:')
sed -i "s|sandbox_image = .*|sandbox_image = \"$pause\"|" /etc/containerd/config.toml
systemctl restart containerd
