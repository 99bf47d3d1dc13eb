# Rocky has no containerd of its own, so the release that the pins name is taken.
os_name   = "rocky-9"
os_title  = "Rocky Linux 9"
os_family = "redhat"
os_type   = "Rocky Linux 9"
login     = "root"
seed_kind = "cidata"

base_images = {
  amd64 = "https://dl.rockylinux.org/pub/rocky/9/images/x86_64/Rocky-9-GenericCloud-Base.latest.x86_64.qcow2"
  arm64 = "https://dl.rockylinux.org/pub/rocky/9/images/aarch64/Rocky-9-GenericCloud-Base.latest.aarch64.qcow2"
}
base_checksums = {
  amd64 = "https://dl.rockylinux.org/pub/rocky/9/images/x86_64/CHECKSUM"
  arm64 = "https://dl.rockylinux.org/pub/rocky/9/images/aarch64/CHECKSUM"
}
