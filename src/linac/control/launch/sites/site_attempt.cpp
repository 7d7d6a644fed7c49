#include "linac/control/launch/sites/site_attempt.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/control/sites/label.h"

namespace linac::launch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kEnd = ".json";

}  // namespace

SiteAttempts::SiteAttempts(fs::path folder) : folder_(std::move(folder)) {
  make_folder(folder_);
  std::error_code none;
  fs::permissions(folder_, fs::perms::owner_all, none);
}

fs::path SiteAttempts::file(const std::string& label) const {
  if (!sites::is_label(label)) throw environment_error(fmt::format("[queue] '{}' is no label of an attempt", label));
  return folder_ / (label + kEnd);
}

void SiteAttempts::keep(const SiteAttempt& attempt) const {
  const json text = {{"label", attempt.label},
                     {"launch", sites::to_json(attempt.kept)},
                     {"tried", attempt.tried},
                     {"started_ms", attempt.started_ms},
                     {"cancelled_ms", attempt.cancelled_ms},
                     {"stop_grace_s", attempt.stop_grace_s}};
  write_file_atomically(file(attempt.label), text.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

std::optional<SiteAttempt> SiteAttempts::find(const std::string& label) const {
  const fs::path path = file(label);
  std::error_code none;
  if (!fs::exists(path, none)) return std::nullopt;
  try {
    if (!fs::is_regular_file(path)) throw environment_error("it is no file");
    const json text = json::parse(read_file(path));
    SiteAttempt attempt;
    text.at("label").get_to(attempt.label);
    attempt.kept = sites::kept_from_json(text.at("launch"));
    text.at("tried").get_to(attempt.tried);
    text.at("started_ms").get_to(attempt.started_ms);
    text.at("cancelled_ms").get_to(attempt.cancelled_ms);
    text.at("stop_grace_s").get_to(attempt.stop_grace_s);
    if (attempt.label != label || !sites::is_label(attempt.kept.record.label))
      throw environment_error("it is another attempt's");
    return attempt;
  } catch (const std::exception& error) {
    throw environment_error(fmt::format(
        "[queue] {}: what was kept of the attempt is damaged ({}); look for it at the site, and remove the file",
        path.string(), error.what()));
  }
}

void SiteAttempts::forget(const std::string& label) const {
  std::error_code none;
  fs::remove(file(label), none);
}

std::vector<std::string> SiteAttempts::labels() const {
  std::vector<std::string> labels;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    if (entry.path().extension() == kEnd && sites::is_label(entry.path().stem().string()))
      labels.push_back(entry.path().stem().string());
  return labels;
}

}  // namespace linac::launch
