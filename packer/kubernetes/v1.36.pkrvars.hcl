# Kubernetes v1.36. A new patch release is one more line at the top of the list.
kubernetes_releases = [
  "v1.36.3",
  "v1.36.1",
]

# What is tested with it; systems that bring a containerd of their own say so in os/<name>.
containerd_version  = "2.3.7"
runc_version        = "1.4.4"
cni_plugins_version = "1.9.1"
crictl_version      = "1.36.0"
