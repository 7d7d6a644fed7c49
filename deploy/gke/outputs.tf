output "credentials" {
  description = "The command that lets kubectl and linac reach the cluster."
  value       = "gcloud container clusters get-credentials ${google_container_cluster.linac.name} --location ${var.zone} --project ${var.project}"
}

output "site" {
  description = "The entry for linac's sites.yaml."
  value = yamlencode({
    (var.name) = { for key, value in {
      kind          = "kubernetes"
      context       = "gke_${var.project}_${var.zone}_${google_container_cluster.linac.name}"
      namespace     = var.namespace
      image         = var.image
      out           = var.out
      cpus          = var.cpus
      memory        = var.memory
      gpus          = var.gpu == null ? 0 : var.gpu.count
      node_selector = { "cloud.google.com/gke-nodepool" = google_container_node_pool.workers.name }
      spot          = var.spot ? "gke" : null
      plan = { for key, value in {
        machine = var.priced_as
        hosts   = var.nodes_max
        region  = join("-", slice(split("-", var.zone), 0, 2))
      } : key => value if value != null }
    } : key => value if value != null }
  })
}
