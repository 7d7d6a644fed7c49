#pragma once
// What whoever launches has to be allowed in the namespace: one table, of which `sites check` asks each and
// `sites init` prints a Role. It reads no Secret. Pure, thread-safe.

#include <span>
#include <string>

namespace linac::sites {

struct KubernetesRight {
  const char *group, *resource, *subresource, *verb;
};
std::span<const KubernetesRight> kubernetes_rights();

/// Role, ServiceAccount and RoleBinding as YAML.
std::string rights_yaml();

}  // namespace linac::sites
