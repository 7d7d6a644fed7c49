variable "name" {
  description = "What linac calls the site."
  type        = string
  default     = "magnum"
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", var.name))
    error_message = "Letters, digits, _ and - only."
  }
}

variable "cluster" {
  description = "Name of the cluster."
  type        = string
  default     = "linac"
  validation {
    condition     = can(regex("^[a-z][-a-z0-9]*$", var.cluster))
    error_message = "Small letters, digits and -."
  }
}

variable "template_id" {
  description = "UUID of the cloud's template for Kubernetes 1.31 or newer (openstack coe cluster template list)."
  type        = string
}

variable "keypair" {
  description = "Your key pair of the cloud, for the nodes."
  type        = string
}

variable "flavor" {
  description = "Flavor of the worker nodes (openstack flavor list)."
  type        = string
}

variable "nodes" {
  description = "So many worker nodes."
  type        = number
  default     = 2
  validation {
    condition     = var.nodes >= 1 && var.nodes <= 1000
    error_message = "From 1 to 1000."
  }
}

variable "kubeconfig" {
  description = "File into which you put the output kubeconfig, and by which linac reaches the cluster."
  type        = string
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
  description = "Of each worker; less than the flavor has."
  type        = string
}

variable "memory" {
  description = "Of each worker, e.g. 24Gi; less than the flavor has."
  type        = string
}

variable "gpus" {
  description = "Of each worker."
  type        = number
  default     = 0
}

variable "out" {
  description = "Where runs are kept: s3://BUCKET/FOLDER."
  type        = string
  validation {
    condition     = startswith(var.out, "s3://")
    error_message = "An address as s3://BUCKET/FOLDER."
  }
}

variable "price" {
  description = "US dollars for an hour of a node, for linac plan; 0: not known."
  type        = number
  default     = 0
}
