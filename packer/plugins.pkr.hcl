# Packer from 1.7 on finds its plugins by this; 1.6.6 has them built in and refuses the block, so leave this file out there.
packer {
  required_plugins {
    qemu = {
      source  = "github.com/hashicorp/qemu"
      version = ">= 1.0.8"
    }
  }
}
