variable "name" {
  description = "What linac calls the site."
  type        = string
  default     = "slurm"
}

variable "project" {
  description = "The project of Google's cloud that pays."
  type        = string
}

variable "zone" {
  description = "Zone of the machines, e.g. us-central1-a."
  type        = string
  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", var.zone))
    error_message = "A zone, as us-central1-a."
  }
}

variable "network" {
  description = "Network of the project that the machines are in."
  type        = string
  default     = "default"
}

variable "subnetwork" {
  description = "Its part in the region of the zone."
  type        = string
  default     = "default"
}

variable "nat" {
  description = "Whether the network has Cloud NAT; without it the nodes have addresses outside, to fetch packages."
  type        = bool
  default     = false
}

variable "cluster" {
  description = "Name of the cluster; its machines are CLUSTER-head, CLUSTER-0, CLUSTER-1 ..."
  type        = string
  default     = "linac"
}

variable "image" {
  description = "Image with cloud-init: Google's of Debian have none."
  type        = string
  default     = "ubuntu-os-cloud/ubuntu-2404-lts-amd64"
}

variable "user" {
  description = "The user who is made, and who may log in."
  type        = string
  default     = "linac"
}

variable "ssh_key" {
  description = "That user's public key: the text of ~/.ssh/id_ed25519.pub."
  type        = string
}

variable "ssh_from" {
  description = "Who may reach ssh, e.g. 192.0.2.0/24."
  type        = string
  validation {
    condition     = can(cidrhost(var.ssh_from, 0)) && var.ssh_from != "0.0.0.0/0"
    error_message = "A range of addresses such as 192.0.2.0/24, and not the whole world."
  }
}

variable "head_machine" {
  description = "Type of the head, which computes nothing."
  type        = string
  default     = "e2-standard-2"
}

variable "node_machine" {
  description = "Type of the nodes."
  type        = string
  default     = "n1-standard-32"
}

variable "node_cpus" {
  description = "Processors of that type (gcloud compute machine-types list)."
  type        = number
  default     = 32
}

variable "node_memory_mib" {
  description = "Memory of that type, in MiB."
  type        = number
  default     = 122880
}

variable "nodes" {
  description = "So many nodes."
  type        = number
  default     = 2
  validation {
    condition     = var.nodes >= 1 && var.nodes <= 500 && floor(var.nodes) == var.nodes
    error_message = "From 1 to 500."
  }
}

variable "spot" {
  description = "Cheaper nodes, which may be taken away at any time; who is stopped is started by hand."
  type        = bool
  default     = false
}

variable "disk_gb" {
  description = "Disk of the head, which holds /scratch."
  type        = number
  default     = 200
  validation {
    condition     = var.disk_gb >= 20
    error_message = "20 at least."
  }
}

variable "munge_key" {
  description = "By which the machines trust each other: openssl rand -hex 64, in TF_VAR_munge_key."
  type        = string
  sensitive   = true
}

variable "memory" {
  description = "Of each worker, e.g. 16G; null: as Slurm gives it."
  type        = string
  default     = null
}

variable "priced_as" {
  description = "The nodes in the price book (linac plan prices), e.g. gcp/n1-standard-32; null: none of it."
  type        = string
  default     = null
}
