# Kubernetes v1.35. A new patch release is one more line at the top of the list.
kubernetes_releases = [
  "v1.35.4",
]

# What is tested with it; systems that bring a containerd of their own say so in os/<name>.
containerd_version  = "2.2.9"
runc_version        = "1.4.4"
cni_plugins_version = "1.9.1"
crictl_version      = "1.35.0"
