#include "linac/control/sites/kubernetes/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "linac/base/base/amounts.h"
#include "linac/control/sites/kubernetes/spot.h"

namespace linac::sites {
namespace {

constexpr const char* kNoVolumeFolder = "/scratch/runs";

// A name of an object (RFC 1123), of at most `letters_max`.
bool is_object_name(const std::string& text, size_t letters_max = 253) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= letters_max && letter(text.front()) && letter(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || c == '-' || c == '.'; });
}

bool is_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

// "16", "0.5", "500m", "16Gi": how much of one.
std::optional<double> quantity(const std::string& text) {
  static const std::map<std::string, double> kUnits{{"", 1},        {"m", 1e-3},   {"k", 1e3},     {"M", 1e6},
                                                    {"G", 1e9},     {"T", 1e12},   {"Ki", 0x1p10}, {"Mi", 0x1p20},
                                                    {"Gi", 0x1p30}, {"Ti", 0x1p40}};
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  const auto unit = kUnits.find(std::string(end, text.data() + text.size()));
  if (error != std::errc{} || text[0] == '-' || !std::isfinite(amount) || unit == kUnits.end()) return std::nullopt;
  return amount * unit->second;
}

void check_where(KubernetesSettings& settings, const std::string& place) {
  need(is_object_name(settings.name_space, 63), place,
       "namespace: '" + settings.name_space + "' is no name of small letters, digits and -");
  need(
      !settings.volume.empty() || !settings.out.empty(), place,
      "volume: without it runs go with their pods; name one that many nodes may write, or set out: s3://BUCKET/FOLDER");
  if (settings.volume.empty()) {
    if (settings.folder.empty()) settings.folder = kNoVolumeFolder;
    return;
  }
  const size_t colon = std::min(settings.volume.find(':'), settings.volume.size());
  const std::string what = settings.volume.substr(0, colon);
  const std::string which = settings.volume.substr(std::min(colon + 1, settings.volume.size()));
  need((what == "pvc" && is_object_name(which)) || (what == "hostPath" && which.starts_with('/') && is_word(which)),
       place, "volume: '" + settings.volume + "' is neither pvc:CLAIM nor hostPath:/DISK");
  need(settings.folder != "/", place, "folder: /; the volume cannot lie there, name a folder, e.g. /runs");
}

void check_secrets(const KubernetesSettings& settings, const std::string& place) {
  for (const auto& [variable, reference] : settings.secrets) {
    const size_t slash = reference.find('/');
    const bool of_cluster = slash != std::string::npos && is_object_name(reference.substr(0, slash)) &&
                            slash + 1 < reference.size() && reference.find('/', slash + 1) == std::string::npos &&
                            is_word(reference);
    const bool of_client = reference.starts_with("env:") && reference.size() > 4 && is_word(reference);
    // Never the value itself, which may be what somebody has written there.
    need(of_cluster || of_client, place, "secrets." + variable + ": neither NAME/KEY of a Secret nor env:VARIABLE");
    need(variable != "LINAC_RUN_KEY", place, "secrets.LINAC_RUN_KEY: each launch gets a key of its own; leave it out");
    need(is_word(variable) && variable.find('=') == std::string::npos, place,
         "secrets." + variable + ": is no name of a variable");
  }
}

}  // namespace

double gib_of_quantity(const std::string& text) {
  return quantity(text).value_or(0) / 0x1p30;
}

void check_kubernetes(KubernetesSettings& settings, const std::string& place) {
  check_where(settings, place);
  check_common(settings, place);
  check_secrets(settings, place);
  need(is_word(settings.image), place, "image: empty; name the image with linac in it");
  const std::string& policy = settings.image_pull_policy;
  need(policy == "Always" || policy == "IfNotPresent" || policy == "Never", place,
       "image_pull_policy: '" + policy + "' is not Always, IfNotPresent or Never");
  for (const auto& [key, value] : {std::pair{"image_pull_secret", settings.image_pull_secret},
                                   {"service_account", settings.service_account},
                                   {"priority_class", settings.priority_class},
                                   {"queue", settings.queue}})
    need(value.empty() || is_object_name(value), place, fmt::format("{}: '{}' is no name of an object", key, value));
  for (const auto& [key, value] : {std::pair{"cpus", settings.cpus}, {"memory", settings.memory}})
    need(value.empty() || quantity(value), place,
         fmt::format("{}: '{}' is no amount of Kubernetes; write e.g. 16, 500m or 16Gi", key, value));
  need(settings.gpus >= 0 && settings.user >= 0 && settings.restarts >= 0, place, "gpus, user, restarts: less than 0");
  need(settings.port >= 1024 && settings.port <= 65535, place, "port: not from 1024 to 65535");
  spot_nodes(settings.spot, place + ".spot");
  if (!settings.time.empty()) seconds_of(place + ".time:", settings.time);
  seconds_of(place + ".notice:", settings.notice);
  for (const std::string& text : settings.tolerations) {
    const size_t colon = text.rfind(':');
    const std::string effect = colon == std::string::npos ? "NoSchedule" : text.substr(colon + 1);
    need(is_word(text) && colon != 0 &&
             (effect == "NoSchedule" || effect == "NoExecute" || effect == "PreferNoSchedule"),
         place, "tolerations: '" + text + "' is no KEY[=VALUE][:NoSchedule|NoExecute|PreferNoSchedule]");
  }
}

}  // namespace linac::sites
