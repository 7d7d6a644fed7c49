#pragma once
// What the cluster's answers mean. Pure, thread-safe: objects as the API gives them, which may lack anything.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

/// How a launch stands. `pods`: of its workers, those that have ended among them; `events`: of the Job and of a pod
/// that waits.
Standing kubernetes_standing(const nlohmann::json& job, const std::vector<nlohmann::json>& pods,
                             const std::vector<nlohmann::json>& events);

/// The first pod that waits for something, in the order of the workers; null if there is none. It may have events.
const nlohmann::json* waiting_pod(const std::vector<nlohmann::json>& pods);

/// The pods of the first worker, in the order in which they were made.
std::vector<std::string> pods_of_first(const std::vector<nlohmann::json>& pods);

/// A member of a member ..., null if there is none on the way: at(pod, "status", "phase").
template <class... Keys>
nlohmann::json member(const nlohmann::json& object, const char* key, const Keys&... keys) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) return {};
  if constexpr (sizeof...(keys) == 0)
    return *found;
  else
    return member(*found, keys...);
}
/// The same as text; "" if it is none.
template <class... Keys>
std::string text_of(const nlohmann::json& object, const Keys&... keys) {
  const nlohmann::json found = member(object, keys...);
  return found.is_string() ? found.get<std::string>() : "";
}

}  // namespace linac::sites
