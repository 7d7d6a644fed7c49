# A cluster with Slurm at Google: a head, which users log in to and which shares a disk, and nodes. The machines set
# themselves up by cloud-init, as deploy/slurm-machines says.

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

locals {
  region = join("-", slice(split("-", var.zone), 0, 2))
}

resource "google_compute_firewall" "within" {
  name        = "${var.cluster}-within"
  network     = var.network
  description = "Machines of the cluster reach each other."
  source_tags = [var.cluster]
  target_tags = [var.cluster]
  allow {
    protocol = "all"
  }
}

resource "google_compute_firewall" "ssh" {
  name          = "${var.cluster}-ssh"
  network       = var.network
  description   = "The head is reached by ssh from outside."
  source_ranges = [var.ssh_from]
  target_tags   = ["${var.cluster}-head"]
  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}

# Before the machines: the files of each have the addresses of all.
resource "google_compute_address" "head" {
  name         = "${var.cluster}-head"
  region       = local.region
  address_type = "INTERNAL"
  subnetwork   = var.subnetwork
}

resource "google_compute_address" "node" {
  count        = var.nodes
  name         = "${var.cluster}-${count.index}"
  region       = local.region
  address_type = "INTERNAL"
  subnetwork   = var.subnetwork
}

resource "google_compute_address" "login" {
  name   = "${var.cluster}-login"
  region = local.region
}

module "machines" {
  source          = "../slurm-machines"
  name            = var.name
  cluster         = var.cluster
  user            = var.user
  ssh_key         = var.ssh_key
  head            = google_compute_address.head.address
  login           = google_compute_address.login.address
  nodes           = [for address in google_compute_address.node : { name = address.name, address = address.address }]
  node_cpus       = var.node_cpus
  node_memory_mib = var.node_memory_mib
  munge_key       = var.munge_key
  memory          = var.memory
  plan            = { machine = var.priced_as, region = local.region }
}

resource "google_compute_instance" "head" {
  name         = "${var.cluster}-head"
  zone         = var.zone
  machine_type = var.head_machine
  tags         = [var.cluster, "${var.cluster}-head"]
  boot_disk {
    initialize_params {
      image = var.image
      size  = var.disk_gb
    }
  }
  network_interface {
    subnetwork = var.subnetwork
    network_ip = google_compute_address.head.address
    access_config {
      nat_ip = google_compute_address.login.address
    }
  }
  metadata = {
    user-data      = module.machines.head
    enable-oslogin = "FALSE"
  }
}

# They reach packages by Cloud NAT, or with addresses of their own; nobody reaches them from outside.
resource "google_compute_instance" "node" {
  count        = var.nodes
  name         = google_compute_address.node[count.index].name
  zone         = var.zone
  machine_type = var.node_machine
  tags         = [var.cluster]
  boot_disk {
    initialize_params {
      image = var.image
    }
  }
  network_interface {
    subnetwork = var.subnetwork
    network_ip = google_compute_address.node[count.index].address
    dynamic "access_config" {
      for_each = var.nat ? [] : [0]
      content {}
    }
  }
  scheduling {
    provisioning_model          = var.spot ? "SPOT" : "STANDARD"
    preemptible                 = var.spot
    automatic_restart           = !var.spot
    on_host_maintenance         = var.spot ? "TERMINATE" : "MIGRATE"
    instance_termination_action = var.spot ? "STOP" : null
  }
  metadata = {
    user-data      = module.machines.node
    enable-oslogin = "FALSE"
  }
}
