variable "name" {
  description = "What linac calls the site."
  type        = string
  default     = "slurm"
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", var.name))
    error_message = "Letters, digits, _ and - only."
  }
}

variable "cluster" {
  description = "Name of the cluster; its machines are CLUSTER-head, CLUSTER-0, CLUSTER-1 ..."
  type        = string
  default     = "linac"
  validation {
    condition     = can(regex("^[a-z][a-z0-9]{0,30}$", var.cluster))
    error_message = "Small letters and digits."
  }
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
  validation {
    condition     = var.node_cpus >= 1 && floor(var.node_cpus) == var.node_cpus
    error_message = "A whole number from 1 on."
  }
}

variable "node_memory_mib" {
  description = "RAM of that flavor, in MiB."
  type        = number
  validation {
    condition     = var.node_memory_mib >= 512
    error_message = "512 at least."
  }
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
  validation {
    condition     = length(var.munge_key) >= 32 && length(var.munge_key) <= 1024
    error_message = "From 32 to 1024 characters."
  }
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
