os_name   = "ubuntu-22.04"
os_title  = "Ubuntu 22.04 LTS"
os_family = "debian"
os_type   = "Ubuntu 22.04 LTS"
login     = "root"
seed_kind = "cidata"

containerd_version = "distribution"

base_images = {
  amd64 = "https://cloud-images.ubuntu.com/releases/jammy/release/ubuntu-22.04-server-cloudimg-amd64.img"
  arm64 = "https://cloud-images.ubuntu.com/releases/jammy/release/ubuntu-22.04-server-cloudimg-arm64.img"
}
base_checksums = {
  amd64 = "https://cloud-images.ubuntu.com/releases/jammy/release/SHA256SUMS"
  arm64 = "https://cloud-images.ubuntu.com/releases/jammy/release/SHA256SUMS"
}
