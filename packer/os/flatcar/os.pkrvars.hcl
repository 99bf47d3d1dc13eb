# Part of Flatcar itself: containerd, and Ignition in place of cloud-init. Its programs lie on a file system that cannot be written.
os_name   = "flatcar"
os_title  = "Flatcar Container Linux"
os_family = "flatcar"
os_type   = "CoreOS"
login     = "core"
seed_kind = "ignition"

containerd_version = "distribution"

base_images = {
  amd64 = "https://stable.release.flatcar-linux.net/amd64-usr/current/flatcar_production_qemu_image.img"
  arm64 = "https://stable.release.flatcar-linux.net/arm64-usr/current/flatcar_production_qemu_uefi_image.img"
}
base_checksums = {
  amd64 = "https://stable.release.flatcar-linux.net/amd64-usr/current/flatcar_production_qemu_image.img.DIGESTS"
  arm64 = "https://stable.release.flatcar-linux.net/arm64-usr/current/flatcar_production_qemu_uefi_image.img.DIGESTS"
}
