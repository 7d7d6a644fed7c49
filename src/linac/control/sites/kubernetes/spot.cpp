#include "linac/control/sites/kubernetes/spot.h"

#include <fmt/format.h>

#include <array>

#include "linac/base/base/error.h"

namespace linac::sites {
namespace {

// Of the clouds' own pages: GKE "Spot VMs", EKS "Managed node groups", AKS "Spot node pools", Karpenter "NodePools".
constexpr std::array<SpotNodes, 4> kSpotNodes{{
    {"gke", "cloud.google.com/gke-spot", "true", true},
    {"eks", "eks.amazonaws.com/capacityType", "SPOT", false},
    {"aks", "kubernetes.azure.com/scalesetpriority", "spot", true},
    {"karpenter", "karpenter.sh/capacity-type", "spot", false},
}};

}  // namespace

const SpotNodes* spot_nodes(const std::string& word, const std::string& place) {
  if (word.empty()) return nullptr;
  std::string words;
  for (const SpotNodes& one : kSpotNodes) {
    if (word == one.word) return &one;
    words += (words.empty() ? "" : ", ") + std::string(one.word);
  }
  throw user_error(fmt::format("{}: '{}' is not one of {}; other nodes are chosen by node_selector and tolerations",
                               place, word, words));
}

}  // namespace linac::sites
