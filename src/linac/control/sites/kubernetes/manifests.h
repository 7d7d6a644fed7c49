#pragma once
// A launch as objects of Kubernetes: an Indexed Job whose pods are the workers, a headless Service by which they find
// the first one, a ConfigMap with the job file and the script of a worker, a Secret with the key of the run. What they
// are called follows from the launch alone. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/control/sites/kubernetes/settings.h"

namespace linac::sites {

inline constexpr const char* kLaunchLabel = "linac/launch";       // on all objects of a launch: what they are called
inline constexpr const char* kNameAnnotation = "linac/name";      // on the Job: the launch's own name
inline constexpr const char* kDigestAnnotation = "linac/digest";  // on the Job: of job, workers, place of the run

/// What the objects of a launch are called: its name where that is a name for Kubernetes, else one that follows from
/// it.
std::string object_name(const std::string& label);

struct KubernetesObjects {
  nlohmann::json job, service, config_map;
  nlohmann::json secret;  // the key is in it
  /// In the order in which they are shown and, but for the Job, which is the first, made.
  std::vector<const nlohmann::json*> all() const { return {&service, &config_map, &secret, &job}; }
};

/// User error if it cannot be put into objects. `secret_values`: of the variables that this process gives.
KubernetesObjects kubernetes_objects(const KubernetesSettings& settings, const Launch& launch,
                                     const std::map<std::string, std::string>& secret_values);

/// worker.sh
std::string kubernetes_worker(const KubernetesSettings& settings, const Launch& launch);

/// The objects as YAML documents, but for the Secret: of that there is how to make it.
std::string manifests_yaml(const KubernetesObjects& objects);
std::string documents_yaml(const std::vector<const nlohmann::json*>& objects);

}  // namespace linac::sites
