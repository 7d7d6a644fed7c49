variable "name" {
  description = "What linac calls the site."
  type        = string
  default     = "slurm"
}

variable "cluster" {
  description = "Name of the cluster; its machines are CLUSTER-head, CLUSTER-0, CLUSTER-1 ..."
  type        = string
  default     = "linac"
}

variable "image_name" {
  description = "Image of Debian 12 or newer, with cloud-init."
  type        = string
  default     = "debian-12"
}

variable "user" {
  description = "The user whom the image makes, and who may log in."
  type        = string
  default     = "debian"
}

variable "head_flavor" {
  description = "Flavor of the head, which computes nothing."
  type        = string
}

variable "node_flavor" {
  description = "Flavor of the nodes."
  type        = string
}

variable "node_cpus" {
  description = "VCPUs of that flavor (openstack flavor list)."
  type        = number
}

variable "node_memory_mib" {
  description = "RAM of that flavor, in MiB."
  type        = number
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

variable "keypair" {
  description = "Your key pair of the cloud."
  type        = string
}

variable "network_id" {
  description = "UUID of the network that the machines are in, with a router to the outside."
  type        = string
}

variable "floating_ip_pool" {
  description = "Network from which the head gets its address outside."
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

variable "price" {
  description = "US dollars for an hour of a node, for linac plan; 0: not known."
  type        = number
  default     = 0
}
