# What the machines of a cluster with Slurm are told, whoever rents them out: a head, which users log in to and which
# shares a disk, and nodes.

terraform {
  required_version = ">= 1.9"
}

locals {
  slurm_conf = templatefile("${path.module}/slurm.conf.tftpl", {
    cluster = var.cluster
    head    = var.head
    nodes   = var.nodes
    cpus    = var.node_cpus
    # What the system needs stays out of Slurm's hands.
    memory_mib = floor(var.node_memory_mib * 0.95)
  })
  setup = { for role in ["head", "node"] : role => templatefile("${path.module}/cloud-init.yaml.tftpl", {
    role       = role
    head       = var.head
    slurm_conf = base64encode(local.slurm_conf)
    munge_key  = base64encode(var.munge_key)
    user       = var.user
    ssh_key    = var.ssh_key
  }) }
}
