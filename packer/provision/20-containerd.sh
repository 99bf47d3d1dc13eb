#!/bin/sh
# The container runtime: of the distribution, or a release. The same configuration for both.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step containerd

release() {
	base=https://github.com/containerd/containerd/releases/download/v$CONTAINERD_VERSION
	file=containerd-$CONTAINERD_VERSION-linux-$ARCH.tar.gz
	fetch_proven "$base/$file" "$WORKPLACE/$file" "$base/$file.sha256sum"
	tar -C /usr/local -xzf "$WORKPLACE/$file"
	runc=https://github.com/opencontainers/runc/releases/download/v$RUNC_VERSION
	fetch_proven "$runc/runc.$ARCH" "$WORKPLACE/runc.$ARCH" "$runc/runc.sha256sum"
	install -m 0755 "$WORKPLACE/runc.$ARCH" /usr/local/sbin/runc
	put /etc/systemd/system/containerd.service <<-'UNIT'
		[Unit]
		Description=containerd container runtime
		Documentation=https://containerd.io
		After=network.target local-fs.target

		[Service]
		ExecStartPre=-/sbin/modprobe overlay
		ExecStart=/usr/local/bin/containerd
		Type=notify
		Delegate=yes
		KillMode=process
		Restart=always
		RestartSec=5
		LimitNPROC=infinity
		LimitCORE=infinity
		TasksMax=infinity
		OOMScoreAdjust=-999

		[Install]
		WantedBy=multi-user.target
	UNIT
}

if [ "$CONTAINERD_VERSION" != distribution ]; then
	release
fi
command -v containerd >/dev/null || fail "$OS_TITLE has no containerd of its own: give containerd_version"

# Version 2 of the configuration is read by containerd 1.6 and by all since. The next step fills in the name of the pause image.
put /etc/containerd/config.toml <<-'TOML'
	version = 2
	[plugins."io.containerd.grpc.v1.cri"]
	  sandbox_image = "registry.k8s.io/pause:latest"
	  [plugins."io.containerd.grpc.v1.cri".registry]
	    config_path = "/etc/containerd/certs.d"
	  [plugins."io.containerd.grpc.v1.cri".cni]
	    bin_dir = "/opt/cni/bin"
	    conf_dir = "/etc/cni/net.d"
	  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
	    runtime_type = "io.containerd.runc.v2"
	    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
	      SystemdCgroup = true
TOML
mkdir -p /etc/containerd/certs.d /etc/cni/net.d /opt/cni/bin
if [ "$OS_FAMILY" = flatcar ]; then
	put /etc/systemd/system/containerd.service.d/10-capcat.conf <<-'UNIT'
		[Service]
		Environment=CONTAINERD_CONFIG=/etc/containerd/config.toml
	UNIT
fi
systemctl daemon-reload
systemctl enable containerd
systemctl restart containerd
containerd --version
