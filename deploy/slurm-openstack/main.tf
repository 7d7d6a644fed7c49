# A cluster with Slurm on OpenStack: a head, which users log in to and which shares a disk, and nodes. The machines set
# themselves up by cloud-init from Debian's packages.

terraform {
  required_version = ">= 1.9"
  required_providers {
    openstack = {
      source  = "terraform-provider-openstack/openstack"
      version = ">= 3.0"
    }
  }
}

resource "openstack_networking_secgroup_v2" "cluster" {
  name        = var.cluster
  description = "Machines of the cluster reach each other; ssh from outside."
}

resource "openstack_networking_secgroup_rule_v2" "within" {
  security_group_id = openstack_networking_secgroup_v2.cluster.id
  direction         = "ingress"
  ethertype         = "IPv4"
  remote_group_id   = openstack_networking_secgroup_v2.cluster.id
}

resource "openstack_networking_secgroup_rule_v2" "ssh" {
  security_group_id = openstack_networking_secgroup_v2.cluster.id
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = 22
  port_range_max    = 22
  remote_ip_prefix  = var.ssh_from
}

# Before the machines: the files of each have the addresses of all.
resource "openstack_networking_port_v2" "head" {
  name               = "${var.cluster}-head"
  network_id         = var.network_id
  security_group_ids = [openstack_networking_secgroup_v2.cluster.id]
}

resource "openstack_networking_port_v2" "node" {
  count              = var.nodes
  name               = "${var.cluster}-${count.index}"
  network_id         = var.network_id
  security_group_ids = [openstack_networking_secgroup_v2.cluster.id]
}

module "machines" {
  source          = "../slurm-machines"
  name            = var.name
  cluster         = var.cluster
  user            = var.user
  ssh_key         = null
  head            = openstack_networking_port_v2.head.all_fixed_ips[0]
  login           = openstack_networking_floatingip_v2.head.address
  nodes           = [for port in openstack_networking_port_v2.node : { name = port.name, address = port.all_fixed_ips[0] }]
  node_cpus       = var.node_cpus
  node_memory_mib = var.node_memory_mib
  munge_key       = var.munge_key
  memory          = var.memory
  plan            = { price = var.price }
}

resource "openstack_compute_instance_v2" "head" {
  name        = "${var.cluster}-head"
  image_name  = var.image_name
  flavor_name = var.head_flavor
  key_pair    = var.keypair
  user_data   = module.machines.head
  network {
    port = openstack_networking_port_v2.head.id
  }
}

resource "openstack_compute_instance_v2" "node" {
  count       = var.nodes
  name        = openstack_networking_port_v2.node[count.index].name
  image_name  = var.image_name
  flavor_name = var.node_flavor
  key_pair    = var.keypair
  user_data   = module.machines.node
  network {
    port = openstack_networking_port_v2.node[count.index].id
  }
}

resource "openstack_networking_floatingip_v2" "head" {
  pool    = var.floating_ip_pool
  port_id = openstack_networking_port_v2.head.id
  # Only then is there an address to reach.
  depends_on = [openstack_compute_instance_v2.head]
}
