output "site" {
  description = "The entry for linac's sites.yaml."
  value = yamlencode({
    (var.name) = { for key, value in {
      kind      = "slurm"
      login     = "${var.user}@${openstack_networking_floatingip_v2.head.address}"
      folder    = "/scratch/linac"
      program   = "/scratch/linac/bin/linac"
      partition = "main"
      cpus      = var.node_cpus
      memory    = var.memory
      plan      = { hosts = var.nodes, price = var.price }
    } : key => value if value != null }
  })
}
