output "site" {
  description = "The entry for linac's sites.yaml."
  value = yamlencode({
    (var.name) = { for key, value in {
      kind       = "kubernetes"
      namespace  = kubernetes_namespace.linac.metadata[0].name
      kubeconfig = var.kubeconfig
      image      = var.image
      volume     = var.disk == null ? null : "pvc:${kubernetes_persistent_volume_claim.runs[0].metadata[0].name}"
      folder     = var.disk == null ? null : "/runs"
      out        = var.out
      cpus       = var.cpus
      memory     = var.memory
      gpus       = var.gpus
      plan       = { price = var.price }
    } : key => value if value != null }
  })
}
