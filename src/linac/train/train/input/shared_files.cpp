#include "linac/train/train/input/shared_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "linac/base/base/log.h"

namespace linac::train {

std::vector<std::string> shared_files(const nlohmann::json& data) {
  std::map<std::string, std::string> by_content;
  for (const nlohmann::json& file : data.value("train", nlohmann::json::array()))
    by_content.emplace(file.at("fingerprint"), file.at("url"));
  std::vector<std::string> shared;
  for (const nlohmann::json& file : data.value("test", nlohmann::json::array())) {
    const auto found = by_content.find(file.at("fingerprint"));
    if (found == by_content.end()) continue;
    const auto url = file.at("url").get<std::string>();
    shared.push_back(found->second == url ? url : fmt::format("{} (the content of {})", url, found->second));
  }
  return shared;
}

void warn_of_shared_files(const nlohmann::json& data) {
  constexpr size_t kShown = 3;
  const std::vector<std::string> shared = shared_files(data);
  if (shared.empty()) return;
  const auto shown = std::span(shared).first(std::min(kShown, shared.size()));
  log::warn(
      fmt::format("[data] the test files are training files, too: {}{}; what a test says of them is said of events "
                  "that the model has learned; name others in data.test, or keep some with data.split",
                  fmt::join(shown, ", "),
                  shown.size() < shared.size() ? fmt::format(" and {} others", shared.size() - shown.size()) : ""));
}

}  // namespace linac::train
