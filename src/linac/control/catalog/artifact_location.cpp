#include "linac/control/catalog/artifact_location.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/base/lower_ascii.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/utf8.h"

namespace linac::catalog {
namespace {

constexpr std::string_view kOwn = "mlflow-artifacts:/";
constexpr size_t kBytesMax = 1024;

Refusal refused(const std::string& location, const std::string& why) {
  return {RefusalKind::kInvalid,
          fmt::format("[experiments] artifact_location '{}' cannot be used ({}); leave it out, write "
                      "mlflow-artifacts:/folder, or the address of a store, as s3://bucket/folder",
                      printable(location), why)};
}

constexpr const char *kDigits = "0123456789", *kHexDigits = "0123456789abcdef";

bool only(const std::string& text, const char* characters) {
  return text.find_first_not_of(characters) == std::string::npos;
}

/// The id of a run, or of a logged model.
bool names_a_thing(const std::string& part) {
  constexpr size_t kIdDigits = 32;
  const std::string id = part.starts_with("m-") ? part.substr(2) : part;
  return id.size() == kIdDigits && only(id, kHexDigits);
}

void check_own(const std::string& location) {
  std::string path = location.substr(kOwn.size());
  if (path.starts_with('/')) throw refused(location, "it names another server");
  try {
    path = harmless_path(path);
  } catch (const Refusal& refusal) {
    throw refused(location, refusal.what());
  }
  if (path.empty()) throw refused(location, "it names no folder");
  if (path.find_first_of("%?#") != std::string::npos) throw refused(location, "it has one of %, ? and #");
  bool first = true;
  for (size_t from = 0; from < path.size();) {
    const size_t slash = std::min(path.find('/', from), path.size());
    const std::string part = path.substr(from, slash - from);
    if (first && (part == "models" || only(part, kDigits)))
      throw refused(location, "folders that are numbers, and 'models', are the service's own");
    if (part == "artifacts" || names_a_thing(part)) throw refused(location, "a part of it is a run's or a model's own");
    first = false;
    from = slash + 1;
  }
}

}  // namespace

bool is_asked_with_a_token(const std::string& uri) {
  const size_t colon = uri.find(':');
  if (colon == std::string::npos || uri.compare(colon, 3, "://") != 0) return false;
  const std::string scheme = lower_ascii(std::string_view(uri).substr(0, colon));
  if (scheme == "mlflow-artifacts") return uri.size() > colon + 3 && uri[colon + 3] != '/';
  return scheme == "http" || scheme == "https";
}

std::string artifacts_of(int64_t experiment, const std::string& location, const std::string& path) {
  return location.empty() ? fmt::format("mlflow-artifacts:/{}/{}/artifacts", experiment, path)
                          : fmt::format("{}{}{}/artifacts", location, location.back() == '/' ? "" : "/", path);
}

void check_artifact_location(const std::string& location) {
  if (location.empty()) return;
  const bool line = std::none_of(location.begin(), location.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\'; });
  if (location.size() > kBytesMax || !valid_text(location) || !line)
    throw refused(location, "it is no short line of text");
  if (location.starts_with(kOwn)) return check_own(location);
  const size_t colon = location.find("://");
  const bool scheme = colon != std::string::npos && colon > 0 && location[0] >= 'a' && location[0] <= 'z' &&
                      location.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+.-") == colon;
  if (!scheme || location.starts_with("file:") || location.starts_with("mlflow-artifacts:"))
    throw refused(location, "it is no address of a store");
  if (is_asked_with_a_token(location)) throw refused(location, "MLflow's clients would send their tokens there");
  if (colon + 3 == location.size() || location[colon + 3] == '/') throw refused(location, "it names no host");
  if ((location + "/").find("/../") != std::string::npos) throw refused(location, "it has a part '..'");
}

void check_store(const std::string& uri, const std::vector<std::string>& stores) {
  const bool own = uri.empty() || uri.starts_with(kOwn) || uri.starts_with("runs:/") || uri.starts_with("models:/");
  const auto below = [&](const std::string& store) {
    return uri.starts_with(store) && (uri.size() == store.size() || uri[store.size()] == '/');
  };
  const bool climbs = (uri + "/").find("/../") != std::string::npos;
  if (own || (!climbs && std::ranges::any_of(stores, below))) return;
  throw Refusal(
      RefusalKind::kInvalid,
      fmt::format("[artifacts] '{}' lies at none of the stores of this service ({}); leave it out, or an "
                  "admin starts it with --artifact-store",
                  printable(uri), stores.empty() ? "there are none" : fmt::format("{}", fmt::join(stores, ", "))));
}

void check_stores(const std::vector<std::string>& stores) {
  for (const std::string& store : stores) {
    try {
      if (store.ends_with('/')) throw refused(store, "it ends with a slash");
      if (store.starts_with(kOwn)) throw refused(store, "the service's own place needs no mention");
      check_artifact_location(store);
    } catch (const Refusal& refusal) {
      throw user_error(fmt::format("[serve] --artifact-store {}: {}", store, refusal.what()));
    }
  }
}

std::optional<std::string> own_artifacts(const std::string& uri) {
  if (!uri.starts_with(kOwn)) return std::nullopt;
  try {
    std::string path = harmless_path(uri.substr(kOwn.size()));
    if (path.empty()) return std::nullopt;
    return path;
  } catch (const Refusal&) {
    return std::nullopt;
  }
}

}  // namespace linac::catalog
