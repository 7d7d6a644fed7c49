output "head" {
  description = "The user data of the head."
  value       = local.setup.head
  sensitive   = true
}

output "node" {
  description = "The user data of each node."
  value       = local.setup.node
  sensitive   = true
}

output "site" {
  description = "The entry for linac's sites.yaml."
  value = yamlencode({
    (var.name) = { for key, value in {
      kind      = "slurm"
      login     = "${var.user}@${var.login}"
      folder    = "/scratch/linac"
      program   = "/scratch/linac/bin/linac"
      partition = "main"
      cpus      = var.node_cpus
      memory    = var.memory
      plan      = merge({ hosts = length(var.nodes) }, { for key, value in var.plan : key => value if value != null })
    } : key => value if value != null }
  })
}
