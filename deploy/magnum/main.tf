# A cluster of Kubernetes by OpenStack's container service (Magnum), with a group of worker nodes of its own.

terraform {
  required_version = ">= 1.9"
  required_providers {
    openstack = {
      source  = "terraform-provider-openstack/openstack"
      version = ">= 3.0"
    }
  }
}

resource "openstack_containerinfra_cluster_v1" "linac" {
  name                = var.cluster
  cluster_template_id = var.template_id
  keypair             = var.keypair
  master_count        = 1
  node_count          = 1
  create_timeout      = 60
}

resource "openstack_containerinfra_nodegroup_v1" "workers" {
  name           = "workers"
  cluster_id     = openstack_containerinfra_cluster_v1.linac.id
  flavor_id      = var.flavor
  node_count     = var.nodes
  min_node_count = 0
  max_node_count = var.nodes
}
