variable "name" {
  description = "What linac calls the site."
  type        = string
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", var.name))
    error_message = "Letters, digits, _ and - only."
  }
}

variable "cluster" {
  description = "Name of the cluster; its machines are CLUSTER-head, CLUSTER-0, CLUSTER-1 ..."
  type        = string
  validation {
    condition     = can(regex("^[a-z][a-z0-9]{0,30}$", var.cluster))
    error_message = "Small letters and digits."
  }
}

variable "user" {
  description = "The user who logs in, and to whom /scratch/linac belongs."
  type        = string
  validation {
    condition     = can(regex("^[a-z_][-a-z0-9_]{0,31}$", var.user))
    error_message = "A name of a user: small letters, digits, _ and -."
  }
}

variable "ssh_key" {
  description = "That user's public key, if all machines are to make the user; null: the image or the cloud does."
  type        = string
  validation {
    condition     = var.ssh_key == null ? true : can(regex("^(ssh|ecdsa|sk)-[^\n]+$", var.ssh_key))
    error_message = "One public key, as ssh-ed25519 AAAA... me."
  }
}

variable "head" {
  description = "Address of the head for the nodes."
  type        = string
}

variable "login" {
  description = "Address of the head for users."
  type        = string
}

variable "nodes" {
  description = "Names and addresses of the nodes."
  type        = list(object({ name = string, address = string }))
  validation {
    condition     = length(var.nodes) >= 1 && length(var.nodes) <= 500
    error_message = "From 1 to 500."
  }
}

variable "node_cpus" {
  description = "Processors of a node."
  type        = number
  validation {
    condition     = var.node_cpus >= 1 && floor(var.node_cpus) == var.node_cpus
    error_message = "A whole number from 1 on."
  }
}

variable "node_memory_mib" {
  description = "Memory of a node, in MiB."
  type        = number
  validation {
    condition     = var.node_memory_mib >= 512
    error_message = "512 at least."
  }
}

variable "munge_key" {
  description = "By which the machines trust each other."
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
}

variable "plan" {
  description = "For linac plan: the price of an hour of a node, or its name and region in the price book."
  type = object({
    price      = optional(number)
    spot_price = optional(number)
    machine    = optional(string)
    region     = optional(string)
  })
}
