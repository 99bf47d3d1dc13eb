# The image "generic", not "genericcloud": its kernel has the drivers of VMware and XenServer too.
os_name   = "debian-12"
os_title  = "Debian 12"
os_family = "debian"
os_type   = "Debian GNU/Linux 12 (64-bit)"
login     = "root"
seed_kind = "cidata"

containerd_version  = "distribution"
cni_plugins_version = "distribution"

base_images = {
  amd64 = "https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-generic-amd64.qcow2"
  arm64 = "https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-generic-arm64.qcow2"
}
base_checksums = {
  amd64 = "https://cloud.debian.org/images/cloud/bookworm/latest/SHA512SUMS"
  arm64 = "https://cloud.debian.org/images/cloud/bookworm/latest/SHA512SUMS"
}
