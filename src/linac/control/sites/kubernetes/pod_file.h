#pragma once
// A pod that a user has written, as TF-Spawner takes one (--pod-file): what the workers of a script are like. Pure,
// thread-safe.

#include <nlohmann/json.hpp>
#include <string>

namespace linac::sites {

/// `ours`, the template of a Job's pods, with what the file has beside it: resources, volumes, nodes, annotations and
/// all else. Name, image, command and the variables of ours stay. User error for what is no pod of one container.
nlohmann::json like_pod(const std::string& yaml, nlohmann::json ours);

}  // namespace linac::sites
