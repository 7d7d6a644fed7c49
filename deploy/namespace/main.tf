# A namespace of a Kubernetes cluster for linac: an account with the rights that launches need, and bounds for all of
# them together. Resources have the names that the provider knew in 2020, so old and new versions of it have them.

terraform {
  required_version = ">= 1.9"
  required_providers {
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = ">= 1.13.4, < 4"
    }
  }
}

resource "kubernetes_namespace" "linac" {
  metadata {
    name = var.namespace
  }
}

resource "kubernetes_service_account" "linac" {
  metadata {
    name      = "linac"
    namespace = kubernetes_namespace.linac.metadata[0].name
  }
}

# As `linac sites init kubernetes` prints it.
resource "kubernetes_role" "linac" {
  metadata {
    name      = "linac"
    namespace = kubernetes_namespace.linac.metadata[0].name
  }
  rule {
    api_groups = ["batch"]
    resources  = ["jobs"]
    verbs      = ["create", "get", "patch", "delete"]
  }
  rule {
    api_groups = [""]
    resources  = ["services", "configmaps", "secrets"]
    verbs      = ["create", "delete"]
  }
  rule {
    api_groups = [""]
    resources  = ["pods"]
    verbs      = ["list", "deletecollection"]
  }
  rule {
    api_groups = [""]
    resources  = ["pods/log"]
    verbs      = ["get"]
  }
  rule {
    api_groups = [""]
    resources  = ["events", "resourcequotas"]
    verbs      = ["list"]
  }
}

resource "kubernetes_role_binding" "linac" {
  metadata {
    name      = "linac"
    namespace = kubernetes_namespace.linac.metadata[0].name
  }
  role_ref {
    api_group = "rbac.authorization.k8s.io"
    kind      = "Role"
    name      = kubernetes_role.linac.metadata[0].name
  }
  subject {
    kind      = "ServiceAccount"
    name      = kubernetes_service_account.linac.metadata[0].name
    namespace = kubernetes_namespace.linac.metadata[0].name
  }
  dynamic "subject" {
    for_each = var.users
    content {
      kind      = "User"
      name      = subject.value
      api_group = "rbac.authorization.k8s.io"
    }
  }
}

resource "kubernetes_resource_quota" "linac" {
  metadata {
    name      = "linac"
    namespace = kubernetes_namespace.linac.metadata[0].name
  }
  spec {
    hard = merge(
      {
        "limits.cpu"    = var.quota.cpus
        "limits.memory" = var.quota.memory
        "pods"          = var.quota.pods
      },
      var.gpus > 0 ? { "requests.nvidia.com/gpu" = var.quota.gpus } : {},
    )
  }
}

resource "kubernetes_persistent_volume_claim" "runs" {
  count            = var.disk == null ? 0 : 1
  wait_until_bound = false
  metadata {
    name      = "linac-runs"
    namespace = kubernetes_namespace.linac.metadata[0].name
  }
  spec {
    access_modes       = ["ReadWriteMany"]
    storage_class_name = var.disk.storage_class
    resources {
      requests = {
        storage = var.disk.size
      }
    }
  }
}
