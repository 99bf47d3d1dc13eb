# The image "generic", not "genericcloud": its kernel has the drivers of VMware and XenServer too.
# CloudStack 4.22 knows no Debian 13; os_type is the nearest it has.
os_name   = "debian-13"
os_title  = "Debian 13"
os_family = "debian"
os_type   = "Debian GNU/Linux 12 (64-bit)"
login     = "root"
seed_kind = "cidata"

containerd_version  = "distribution"
cni_plugins_version = "distribution"

base_images = {
  amd64 = "https://cloud.debian.org/images/cloud/trixie/latest/debian-13-generic-amd64.qcow2"
  arm64 = "https://cloud.debian.org/images/cloud/trixie/latest/debian-13-generic-arm64.qcow2"
}
base_checksums = {
  amd64 = "https://cloud.debian.org/images/cloud/trixie/latest/SHA512SUMS"
  arm64 = "https://cloud.debian.org/images/cloud/trixie/latest/SHA512SUMS"
}
