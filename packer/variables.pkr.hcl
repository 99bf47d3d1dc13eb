# What a person may choose. capcat build sets these; by hand give them with -var and -var-file. docs/reference/packer has a page for
# each group.

# Group "kubernetes": the versions. The pins come from kubernetes/<minor>.pkrvars.hcl.

variable "kubernetes_version" {
  description = "Version of kubelet, kubeadm and kubectl, with its v; the first of kubernetes_releases when empty."
  type        = string
  default     = ""
}

variable "kubernetes_releases" {
  description = "Patch releases of the minor version that may be built, the newest first."
  type        = list(string)
}

variable "containerd_version" {
  description = "Release of containerd without v, or distribution: the package (or the part) of the operating system."
  type        = string
}

variable "runc_version" {
  description = "Release of runc without v, used where containerd is not that of the distribution."
  type        = string
}

variable "cni_plugins_version" {
  description = "Release of the CNI plugins without v, or distribution."
  type        = string
}

variable "crictl_version" {
  description = "Release of crictl without v, or none."
  type        = string
}

# Group "images": the container images that the node image holds.

variable "image_registry" {
  description = "Registry that clusters name in their images."
  type        = string
  default     = "registry.k8s.io"
}

variable "image_source" {
  description = "Where the images come from: registry, archive (a file of packages_from) or none."
  type        = string
  default     = "registry"
}

# Group "packages": where everything else comes from.

variable "packages_from" {
  description = "Address of a mirror that holds files under the host names they have on the internet; the internet when empty."
  type        = string
  default     = ""
}

# Group "system": the operating system. The values come from os/<name>/os.pkrvars.hcl.

variable "os_name" {
  description = "Name of the folder below os."
  type        = string
}

variable "os_title" {
  description = "Name of the operating system for people."
  type        = string
}

variable "os_family" {
  description = "How packages are installed: debian, redhat or flatcar."
  type        = string
}

variable "os_type" {
  description = "CloudStack's OS type of the templates."
  type        = string
}

variable "base_images" {
  description = "Address of the base image for each architecture, for capcat build, which fetches and proves it."
  type        = map(string)
}

variable "base_checksums" {
  description = "What proves the base image of each architecture: algorithm:hex or the address of a checksum file."
  type        = map(string)
}

variable "login" {
  description = "User that Packer logs in as; root, or one that may use sudo without a password."
  type        = string
}

variable "seed_kind" {
  description = "How the key gets into the guest: cidata (cloud-init) or ignition."
  type        = string
}

# Group "machine": the virtual machine in which the image is made.

variable "architecture" {
  description = "Architecture of the image: amd64 or arm64."
  type        = string
  default     = "amd64"
}

variable "accelerator" {
  description = "QEMU's accelerator: kvm, hvf or tcg. capcat build finds out which one works."
  type        = string
  default     = "tcg"
}

variable "cpus" {
  description = "Processors of the machine."
  type        = number
  default     = 2
}

variable "memory" {
  description = "Memory of the machine in MiB."
  type        = number
  default     = 2048
}

variable "disk_size" {
  description = "Virtual size of the image in MiB. The file system grows to what a virtual machine offers."
  type        = number
  default     = 8192
}

variable "firmware" {
  description = "Path of a UEFI firmware, needed for arm64; BIOS when empty."
  type        = string
  default     = ""
}

# Group "files": what lies where on this computer.

variable "base_image" {
  description = "Path of the base image. It is copied, not changed."
  type        = string
  default     = "base.qcow2"
}

variable "base_checksum" {
  description = "What proves the base image to Packer: algorithm:hex, or none. capcat build gives the digest of what it fetched and proved."
  type        = string
  default     = "none"
}

variable "ssh_key" {
  description = "Path of the private key, ed25519, with which Packer logs in; those of the SSH agent when empty."
  type        = string
  default     = ""
}

variable "ssh_timeout" {
  description = "How long the machine may take to boot. Emulation is slow."
  type        = string
  default     = "30m"
}

variable "seed" {
  description = "Folder with user-data and meta-data (cidata) or config.ign (ignition) that lets the key in; empty when the base image does."
  type        = string
  default     = ""
}

variable "output" {
  description = "Folder for the disk, the console's log and the list of contents; it must not exist."
  type        = string
  default     = "output"
}

# Group "machine", for the builder null: a machine that runs already.

variable "ssh_host" {
  description = "Address of the machine that packer build -only=null.node prepares."
  type        = string
  default     = "127.0.0.1"
}
