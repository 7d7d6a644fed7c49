#pragma once
// A launch as an object of Kubeflow's operators, for who keeps manifests in a repository and has one of them installed:
// TrainJob (v2), TFJob and PyTorchJob (v1). linac makes no such object itself. The operator tells the workers who they
// are, and its rules of restarting are its own. Pure, thread-safe.

#include <string>

#include "linac/control/sites/kubernetes/manifests.h"

namespace linac::sites {

/// `kind`: trainjob, tfjob or pytorchjob; user error for another word, or what that kind cannot have. `objects`: those
/// of the launch. As YAML documents, with how to make the Secret.
std::string kubeflow_yaml(const KubernetesSettings& settings, const Launch& launch, KubernetesObjects objects,
                          const std::string& kind);

}  // namespace linac::sites
