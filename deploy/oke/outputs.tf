output "credentials" {
  description = "The command that lets kubectl and linac reach the cluster."
  value       = "oci ce cluster create-kubeconfig --cluster-id ${oci_containerengine_cluster.linac.id} --region ${var.region} --file $HOME/.kube/${var.cluster} --token-version 2.0.0"
}

output "site" {
  description = "The entry for linac's sites.yaml."
  value = yamlencode({
    (var.name) = {
      kind          = "kubernetes"
      kubeconfig    = pathexpand("~/.kube/${var.cluster}")
      namespace     = var.namespace
      image         = var.image
      out           = var.out
      cpus          = var.cpus
      memory        = var.memory
      gpus          = var.gpus
      node_selector = { "linac/pool" = "workers" }
      plan          = { hosts = var.nodes, price = var.price }
    }
  })
}
