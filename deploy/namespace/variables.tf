variable "name" {
  description = "What linac calls the site."
  type        = string
  default     = "k8s"
  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", var.name))
    error_message = "Letters, digits, _ and - only."
  }
}

variable "namespace" {
  description = "The namespace to make."
  type        = string
  default     = "linac"
  validation {
    condition     = can(regex("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", var.namespace))
    error_message = "A name of Kubernetes: small letters, digits and -, at most 63."
  }
}

variable "kubeconfig" {
  description = "File by which linac reaches the cluster; null: KUBECONFIG, or ~/.kube/config."
  type        = string
  default     = null
}

variable "image" {
  description = "Image with linac in it, with its version."
  type        = string
  validation {
    condition     = can(regex("^[^ ]+(:[^:/ ]+|@sha256:[0-9a-f]{64})$", var.image)) && !endswith(var.image, ":latest")
    error_message = "Name a version, as in registry.example.org/calo/linac:1.0: nodes would have different ones."
  }
}

variable "users" {
  description = "Users of the cluster who may launch, beside the account linac."
  type        = list(string)
  default     = []
}

variable "cpus" {
  description = "Of each worker, e.g. 16 or 500m."
  type        = string
  default     = "4"
}

variable "memory" {
  description = "Of each worker, e.g. 16Gi."
  type        = string
  default     = "8Gi"
}

variable "gpus" {
  description = "Of each worker."
  type        = number
  default     = 0
  validation {
    condition     = var.gpus >= 0 && floor(var.gpus) == var.gpus
    error_message = "A whole number from 0 on."
  }
}

variable "quota" {
  description = "Bounds for all launches together."
  type = object({
    cpus   = string
    memory = string
    gpus   = optional(string, "0")
    pods   = optional(string, "100")
  })
  default = { cpus = "64", memory = "256Gi" }
  validation {
    condition     = alltrue([for amount in values(var.quota) : can(regex("^[0-9]+([.][0-9]+)?(m|k|[KMGTP]i?)?$", amount))])
    error_message = "Amounts as Kubernetes writes them, e.g. 64, 500m or 256Gi."
  }
}

variable "disk" {
  description = "A claim for runs, which pods of many nodes may write: its size and class; null: none, see out."
  type = object({
    size          = string
    storage_class = optional(string)
  })
  default = null
}

variable "out" {
  description = "Where runs are kept if there is no disk: s3://BUCKET/FOLDER."
  type        = string
  default     = null
  validation {
    condition     = var.out == null ? var.disk != null : startswith(var.out, "s3://")
    error_message = "Without a disk runs go with their pods: give disk, or out as s3://BUCKET/FOLDER."
  }
}

variable "price" {
  description = "US dollars for an hour of a host, for linac plan; 0: as the price book says."
  type        = number
  default     = 0
  validation {
    condition     = var.price >= 0
    error_message = "From 0 on."
  }
}
