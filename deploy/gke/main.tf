# A cluster of Google Kubernetes Engine whose worker nodes come when there is work, and go after it.

terraform {
  required_version = ">= 1.9"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 5.0"
    }
  }
}

provider "google" {
  project = var.project
}

resource "google_service_account" "nodes" {
  account_id   = "${var.cluster}-nodes"
  display_name = "Nodes of the cluster ${var.cluster}"
}

# Logs, metrics and images, and nothing else of the project.
resource "google_project_iam_member" "nodes" {
  for_each = toset(["roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader"])
  project  = var.project
  role     = each.key
  member   = "serviceAccount:${google_service_account.nodes.email}"
}

resource "google_container_cluster" "linac" {
  name                     = var.cluster
  location                 = var.zone
  remove_default_node_pool = true
  initial_node_count       = 1
  deletion_protection      = false

  release_channel {
    channel = "REGULAR"
  }
  # Volumes that pods of many nodes may write.
  addons_config {
    gcp_filestore_csi_driver_config {
      enabled = true
    }
  }
}

resource "google_container_node_pool" "workers" {
  name               = "workers"
  cluster            = google_container_cluster.linac.name
  location           = var.zone
  initial_node_count = 0

  autoscaling {
    min_node_count = 0
    max_node_count = var.nodes_max
  }
  node_config {
    machine_type    = var.machine
    disk_size_gb    = var.disk_gb
    spot            = var.spot
    service_account = google_service_account.nodes.email
    oauth_scopes    = ["https://www.googleapis.com/auth/cloud-platform"]

    dynamic "guest_accelerator" {
      for_each = var.gpu == null ? [] : [var.gpu]
      content {
        type  = guest_accelerator.value.type
        count = guest_accelerator.value.count
        gpu_driver_installation_config {
          gpu_driver_version = "DEFAULT"
        }
      }
    }
  }
}
