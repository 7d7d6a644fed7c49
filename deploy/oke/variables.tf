variable "name" {
  description = "What linac calls the site."
  type        = string
  default     = "oke"
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", var.name))
    error_message = "Letters, digits, _ and - only."
  }
}

variable "region" {
  description = "Region of Oracle's cloud, e.g. eu-frankfurt-1."
  type        = string
}

variable "compartment_id" {
  description = "OCID of the compartment that pays."
  type        = string
  validation {
    condition     = startswith(var.compartment_id, "ocid1.")
    error_message = "An OCID begins with ocid1."
  }
}

variable "vcn_id" {
  description = "OCID of the network that the cluster lies in."
  type        = string
}

variable "endpoint_subnet_id" {
  description = "OCID of its public subnet for the API server."
  type        = string
}

variable "node_subnet_id" {
  description = "OCID of its subnet for the nodes; pods of a launch reach each other in it."
  type        = string
}

variable "availability_domain" {
  description = "Where the nodes are, e.g. Uocm:EU-FRANKFURT-1-AD-1."
  type        = string
}

variable "cluster" {
  description = "Name of the cluster."
  type        = string
  default     = "linac"
}

variable "kubernetes_version" {
  description = "1.31 or newer, as OKE names it."
  type        = string
  default     = "v1.34.1"
  validation {
    condition     = can(regex("^v1\\.(3[1-9]|[4-9][0-9])\\.[0-9]+$", var.kubernetes_version))
    error_message = "v1.31.0 or newer: linac needs what Jobs can do from there on."
  }
}

variable "shape" {
  description = "Shape of the nodes, e.g. VM.Standard.E5.Flex or VM.GPU.A10.1."
  type        = string
  default     = "VM.Standard.E5.Flex"
}

variable "ocpus" {
  description = "Of a node, where the shape leaves it open."
  type        = number
  default     = 8
}

variable "memory_gb" {
  description = "Of a node, where the shape leaves it open."
  type        = number
  default     = 64
}

variable "nodes" {
  description = "So many worker nodes; they cost money also while there is no work."
  type        = number
  default     = 2
  validation {
    condition     = var.nodes >= 1 && var.nodes <= 1000
    error_message = "From 1 to 1000."
  }
}

variable "node_image_id" {
  description = "OCID of an OKE image for the shape and version (oci ce node-pool-options get --node-pool-option-id all)."
  type        = string
}

variable "disk_gb" {
  description = "Boot volume of a node, for images and scratch files."
  type        = number
  default     = 100
  validation {
    condition     = var.disk_gb >= 50
    error_message = "50 at least."
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
  description = "Of each worker; an OCPU is two of them."
  type        = string
  default     = "15"
}

variable "memory" {
  description = "Of each worker, e.g. 56Gi; less than the node has."
  type        = string
  default     = "56Gi"
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
