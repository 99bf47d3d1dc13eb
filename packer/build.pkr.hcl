packer {
  required_version = ">= 1.6.6"
}

locals {
  kubernetes_version = var.kubernetes_version != "" ? var.kubernetes_version : var.kubernetes_releases[0]
  workplace          = "/var/tmp/capcat"
  shutdown           = "sudo -n shutdown -P now"

  environment = [
    "OS_NAME=${var.os_name}",
    "OS_TITLE=${var.os_title}",
    "OS_FAMILY=${var.os_family}",
    "ARCH=${var.architecture}",
    "KUBERNETES_VERSION=${local.kubernetes_version}",
    "CONTAINERD_VERSION=${var.containerd_version}",
    "RUNC_VERSION=${var.runc_version}",
    "CNI_PLUGINS_VERSION=${var.cni_plugins_version}",
    "CRICTL_VERSION=${var.crictl_version}",
    "IMAGE_REGISTRY=${var.image_registry}",
    "IMAGE_SOURCE=${var.image_source}",
    "PACKAGES_FROM=${var.packages_from}",
  ]

  # Each step is a file, can run twice, and says its name when it starts.
  steps = [
    "10-packages",
    "20-containerd",
    "30-kubernetes",
    "40-kernel",
    "50-cloud-init",
    "60-hardening",
    "70-images",
    "75-contents",
  ]
  last = ["80-clean-up", "90-smoke-test"]
  run  = "sudo -n env WORKPLACE=${local.workplace} {{ .Vars }} sh -eu '{{ .Path }}'"
}

build {
  sources = ["source.qemu.node", "source.null.node"]

  provisioner "shell" {
    inline = ["rm -rf ${local.workplace}", "mkdir -p ${local.workplace}"]
  }

  provisioner "file" {
    source      = "${path.root}/os/${var.os_name}/packages"
    destination = "${local.workplace}/packages"
  }

  provisioner "file" {
    source      = "${path.root}/provision/lib.sh"
    destination = "${local.workplace}/lib.sh"
  }

  provisioner "file" {
    source      = "${path.root}/provision/data-source.sh"
    destination = "${local.workplace}/data-source.sh"
  }

  provisioner "shell" {
    environment_vars = local.environment
    execute_command  = local.run
    scripts          = [for step in local.steps : "${path.root}/provision/${step}.sh"]
  }

  provisioner "file" {
    direction   = "download"
    source      = "${local.workplace}/contents.tsv"
    destination = "${var.output}.contents.tsv"
  }

  provisioner "shell" {
    environment_vars = local.environment
    execute_command  = local.run
    scripts          = [for step in local.last : "${path.root}/provision/${step}.sh"]
  }
}
