#include "linac/control/launch/pilots/words.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "linac/base/base/hex.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/launch/secret_words.h"

namespace linac::launch {
namespace {

using nlohmann::json;

constexpr size_t kLabelBytesMax = 100, kAgentIdDigits = 32;
constexpr int64_t kAmountMax = std::numeric_limits<int64_t>::max(), kStatusMax = 255, kSignalMax = 127;

Refusal no_words(const char* of) {
  return {RefusalKind::kInvalid,
          std::string("[pilots] ") + of + " cannot be read; are agent and service of the same version?"};
}

template <class Read>
auto read(const char* of, Read&& reads) {
  try {
    return reads();
  } catch (const json::exception&) {  // whose message may have a part of it
    throw no_words(of);
  }
}

double bounded(double value, double max) {
  return std::isfinite(value) ? std::clamp(value, 0.0, max) : 0.0;
}

/// A number that another one wrote: a conversion of 1e300 would be undefined.
int64_t whole(const json& number, int64_t max) {
  if (!number.is_number_integer()) throw no_words("a number");
  const auto value = number.get<int64_t>();
  if (value < 0 || value > max) throw no_words("a number");
  return value;
}

}  // namespace

bool is_label(const std::string& label) {
  return !label.empty() && label.size() <= kLabelBytesMax && label.front() != '-' &&
         std::all_of(label.begin(), label.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
         });
}

bool is_agent_id(const std::string& id) {
  return id.size() == kAgentIdDigits && is_hex(id);
}

json to_json(const HandedWork& work) {
  json environment = json::object();
  for (const auto& [name, value] : work.command.environment) environment[name] = value;
  return {{"attempt", work.label},
          {"lease", work.secret},
          {"user", work.demand.user},
          {"own", work.own},
          {"job", work.command.job},
          {"environment", std::move(environment)},
          {"secrets", to_json(work.command.secrets)},
          {"grace_s", work.command.stop_grace_s},
          {"cores", work.demand.cores},
          {"memory_mb", work.demand.memory_mb},
          {"gpus", work.demand.gpus},
          {"seconds_max", work.demand.seconds_max}};
}

HandedWork work_from_json(const json& told) {
  HandedWork work = read("the work", [&] {
    HandedWork read;
    read.label = told.at("attempt");
    read.secret = told.at("lease");
    read.demand.user = told.at("user");
    read.own = told.at("own");
    read.command.job = told.at("job");
    read.command.stop_grace_s = bounded(told.at("grace_s"), 24 * 3600);
    read.demand.cores = told.at("cores");
    read.demand.memory_mb = told.at("memory_mb");
    read.demand.gpus = told.at("gpus");
    read.demand.seconds_max = told.at("seconds_max");
    for (const auto& [name, value] : told.at("environment").items())
      read.command.environment.emplace_back(name, value.get<std::string>());
    auto secrets = secrets_from_json(told.at("secrets"));
    if (!secrets) throw no_words("a secret");
    read.command.secrets = std::move(*secrets);
    return read;
  });
  const Demand& demand = work.demand;
  if (!is_label(work.label) || demand.cores < 1 || demand.memory_mb < 0 || demand.gpus < 0) throw no_words("the work");
  return work;
}

json to_json(const AttemptUse& use) {
  json told = json::object();
  if (use.cpu_s) told["cpu_s"] = *use.cpu_s;
  if (use.memory_bytes) told["memory_bytes"] = *use.memory_bytes;
  if (use.read_bytes) told["read_bytes"] = *use.read_bytes;
  if (use.written_bytes) told["written_bytes"] = *use.written_bytes;
  return told;
}

AttemptUse use_from_json(const json& told) {
  constexpr double kSecondsMax = 1e12;
  return read("the use of an attempt", [&] {
    AttemptUse use;
    if (told.contains("cpu_s")) use.cpu_s = bounded(told.at("cpu_s"), kSecondsMax);
    if (told.contains("memory_bytes")) use.memory_bytes = whole(told.at("memory_bytes"), kAmountMax);
    if (told.contains("read_bytes")) use.read_bytes = whole(told.at("read_bytes"), kAmountMax);
    if (told.contains("written_bytes")) use.written_bytes = whole(told.at("written_bytes"), kAmountMax);
    return use;
  });
}

Exit told_exit(const json& told) {
  constexpr double kSecondsMax = 1e9;
  Exit exit = read("the end of an attempt", [&] {
    whole(told.at("status"), kStatusMax);
    whole(told.at("signal"), kSignalMax);
    whole(told.at("memory_peak_bytes"), kAmountMax);
    whole(told.at("ended_ms"), kAmountMax);
    return exit_from_json(told);
  });
  exit.seconds = bounded(exit.seconds, kSecondsMax);
  exit.cpu_s = bounded(exit.cpu_s, kSecondsMax * 1e4);
  exit.problem = printable(exit.problem);
  return exit;
}

}  // namespace linac::launch
