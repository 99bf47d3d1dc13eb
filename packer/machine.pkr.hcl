# The builders. They bring up a machine with a login; everything else is in build.pkr.hcl and knows nothing of them.

locals {
  emulator = { amd64 = "qemu-system-x86_64", arm64 = "qemu-system-aarch64" }
  machine  = { amd64 = "pc", arm64 = "virt" }
  # Emulation offers all it can; hardware offers what the host has.
  cpu = var.accelerator == "tcg" ? "max" : "host"

  serial = ["-serial", "file:${var.output}.console.log"]
  # No "-device" here: one would take the place of those that Packer needs.
  plain    = [["-cpu", local.cpu], ["-smp", "${var.cpus}"], local.serial]
  seeded   = var.seed == "" ? "" : var.seed_kind
  ignition = [["-fw_cfg", "name=opt/org.flatcar-linux/config,file=${var.seed}/config.ign"]]
  firmware = var.firmware == "" ? [] : [["-bios", var.firmware]]
}

source "qemu" "node" {
  iso_url          = var.base_image
  iso_checksum     = var.base_checksum
  disk_image       = true
  use_backing_file = false
  disk_size        = "${var.disk_size}M"
  disk_interface   = "virtio"
  disk_discard     = "unmap"
  skip_compaction  = true # what is made of the disk leaves out its holes
  format           = "qcow2"
  output_directory = var.output
  vm_name          = "node.qcow2"

  qemu_binary  = local.emulator[var.architecture]
  machine_type = local.machine[var.architecture]
  accelerator  = var.accelerator
  memory       = var.memory
  net_device   = "virtio-net"
  headless     = true
  qemuargs     = concat(local.plain, local.firmware, local.seeded == "ignition" ? local.ignition : [])

  cd_files  = local.seeded == "cidata" ? ["${var.seed}/user-data", "${var.seed}/meta-data"] : []
  cd_label  = "cidata"
  boot_wait = "1s"

  ssh_username         = var.login
  ssh_private_key_file = var.ssh_key
  ssh_agent_auth       = var.ssh_key == ""
  ssh_timeout          = var.ssh_timeout
  shutdown_command     = local.shutdown
  shutdown_timeout     = "15m"
}

# A machine that runs already: the same steps, whatever brought it up. It is left running.
source "null" "node" {
  ssh_host             = var.ssh_host
  ssh_username         = var.login
  ssh_private_key_file = var.ssh_key
  ssh_agent_auth       = var.ssh_key == ""
  ssh_timeout          = var.ssh_timeout
}
