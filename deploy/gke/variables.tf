variable "name" {
  description = "What linac calls the site."
  type        = string
  default     = "gke"
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", var.name))
    error_message = "Letters, digits, _ and - only."
  }
}

variable "project" {
  description = "The project of Google's cloud that pays."
  type        = string
}

variable "zone" {
  description = "Zone of the nodes, e.g. us-central1-a."
  type        = string
  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", var.zone))
    error_message = "A zone, as us-central1-a: of a region the nodes would be spread over several."
  }
}

variable "cluster" {
  description = "Name of the cluster."
  type        = string
  default     = "linac"
  validation {
    condition     = can(regex("^[a-z][-a-z0-9]{1,22}[a-z0-9]$", var.cluster))
    error_message = "Small letters, digits and -, from 3 to 24: the account of its nodes is named after it."
  }
}

variable "machine" {
  description = "Type of the worker nodes."
  type        = string
  default     = "n1-standard-32"
}

variable "priced_as" {
  description = "The same node with its GPUs in the price book (linac plan prices), e.g. gcp/v100x1; null: none of it."
  type        = string
  default     = null
}

variable "gpu" {
  description = "GPUs of a node, e.g. {type = \"nvidia-tesla-v100\", count = 1}; null: none."
  type        = object({ type = string, count = number })
  default     = null
  validation {
    condition     = var.gpu == null ? true : contains([1, 2, 4, 8], var.gpu.count)
    error_message = "1, 2, 4 or 8 of them."
  }
}

variable "nodes_max" {
  description = "So many worker nodes at most; there are none while there is no work."
  type        = number
  default     = 4
  validation {
    condition     = var.nodes_max >= 1 && var.nodes_max <= 1000
    error_message = "From 1 to 1000."
  }
}

variable "spot" {
  description = "Cheaper nodes, which may be taken away at any time."
  type        = bool
  default     = true
}

variable "disk_gb" {
  description = "Disk of a node, for images and scratch files."
  type        = number
  default     = 100
  validation {
    condition     = var.disk_gb >= 50
    error_message = "50 at least: the image alone takes some."
  }
}

variable "namespace" {
  description = "Where launches go; deploy/namespace makes one with rights and bounds."
  type        = string
  default     = "linac"
}

variable "image" {
  description = "Image with linac in it, with its version."
  type        = string
}

variable "cpus" {
  description = "Of each worker, less than the node has: the system takes a part."
  type        = string
  default     = "30"
}

variable "memory" {
  description = "Of each worker, e.g. 24Gi; less than the node has."
  type        = string
  default     = "100Gi"
}

variable "out" {
  description = "Where runs are kept: s3://BUCKET/FOLDER."
  type        = string
  validation {
    condition     = startswith(var.out, "s3://")
    error_message = "An address as s3://BUCKET/FOLDER."
  }
}
