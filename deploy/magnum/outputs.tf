output "kubeconfig" {
  description = "How the cluster is reached: tofu output -raw kubeconfig > FILE, for its owner alone."
  value       = openstack_containerinfra_cluster_v1.linac.kubeconfig["raw_config"]
  sensitive   = true
}

output "site" {
  description = "The entry for linac's sites.yaml."
  value = yamlencode({
    (var.name) = {
      kind          = "kubernetes"
      kubeconfig    = var.kubeconfig
      namespace     = var.namespace
      image         = var.image
      out           = var.out
      cpus          = var.cpus
      memory        = var.memory
      gpus          = var.gpus
      node_selector = { "magnum.openstack.org/nodegroup" = openstack_containerinfra_nodegroup_v1.workers.name }
      plan          = { hosts = var.nodes, price = var.price }
    }
  })
}
