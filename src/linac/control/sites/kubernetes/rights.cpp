#include "linac/control/sites/kubernetes/rights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace linac::sites {
namespace {

constexpr std::array<KubernetesRight, 14> kRights{{
    {"batch", "jobs", "", "create"},
    {"batch", "jobs", "", "get"},
    {"batch", "jobs", "", "patch"},
    {"batch", "jobs", "", "delete"},
    {"", "services", "", "create"},
    {"", "services", "", "delete"},
    {"", "configmaps", "", "create"},
    {"", "configmaps", "", "delete"},
    {"", "secrets", "", "create"},
    {"", "secrets", "", "delete"},
    {"", "pods", "", "list"},
    {"", "pods", "", "deletecollection"},
    {"", "pods", "log", "get"},
    {"", "events", "", "list"},
}};

}  // namespace

std::span<const KubernetesRight> kubernetes_rights() {
  return kRights;
}

std::string rights_yaml() {
  // Rows with the same resource are beside each other.
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> rules;
  for (const KubernetesRight& right : kRights) {
    const std::string resource =
        right.resource + (*right.subresource == '\0' ? "" : "/" + std::string(right.subresource));
    const std::pair key{std::string(right.group), resource};
    if (rules.empty() || rules.back().first != key) rules.push_back({key, {}});
    rules.back().second.emplace_back(right.verb);
  }
  std::string text =
      "apiVersion: v1\n"
      "kind: ServiceAccount\n"
      "metadata: {name: linac, namespace: default}\n"
      "---\n"
      "apiVersion: rbac.authorization.k8s.io/v1\n"
      "kind: Role\n"
      "metadata: {name: linac, namespace: default}\n"
      "rules:\n";
  for (const auto& [key, verbs] : rules)
    text += fmt::format("- {{apiGroups: [\"{}\"], resources: [\"{}\"], verbs: [{}]}}\n", key.first, key.second,
                        fmt::join(verbs, ", "));
  text +=
      "---\n"
      "apiVersion: rbac.authorization.k8s.io/v1\n"
      "kind: RoleBinding\n"
      "metadata: {name: linac, namespace: default}\n"
      "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: linac}\n"
      "subjects: [{kind: ServiceAccount, name: linac, namespace: default}]\n";
  return text;
}

}  // namespace linac::sites
