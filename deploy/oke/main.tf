# A cluster of Oracle's Kubernetes Engine in a network that is there, with one pool of worker nodes.

terraform {
  required_version = ">= 1.9"
  required_providers {
    oci = {
      source  = "oracle/oci"
      version = ">= 5.0"
    }
  }
}

provider "oci" {
  region = var.region
}

resource "oci_containerengine_cluster" "linac" {
  name               = var.cluster
  compartment_id     = var.compartment_id
  vcn_id             = var.vcn_id
  kubernetes_version = var.kubernetes_version

  endpoint_config {
    is_public_ip_enabled = true
    subnet_id            = var.endpoint_subnet_id
  }
}

resource "oci_containerengine_node_pool" "workers" {
  name               = "workers"
  compartment_id     = var.compartment_id
  cluster_id         = oci_containerengine_cluster.linac.id
  kubernetes_version = var.kubernetes_version
  node_shape         = var.shape

  # Shapes of GPUs and bare metal have fixed sizes.
  dynamic "node_shape_config" {
    for_each = endswith(var.shape, ".Flex") ? [1] : []
    content {
      ocpus         = var.ocpus
      memory_in_gbs = var.memory_gb
    }
  }
  node_config_details {
    size = var.nodes
    placement_configs {
      availability_domain = var.availability_domain
      subnet_id           = var.node_subnet_id
    }
  }
  node_source_details {
    source_type             = "IMAGE"
    image_id                = var.node_image_id
    boot_volume_size_in_gbs = var.disk_gb
  }
  initial_node_labels {
    key   = "linac/pool"
    value = "workers"
  }
}
