#include "linac/base/base/process_key.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

#include "linac/base/base/thread_facts.h"

namespace linac {
namespace {

const std::string& boot() {
  static const std::string id = [] {
    std::string text = proc_text("/proc/sys/kernel/random/boot_id");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }();
  return id;
}

}  // namespace

// The fields from the third on; the second, the name, may hold blanks and parentheses.
std::optional<ProcessStat> process_stat(pid_t pid) {
  const std::string text = proc_text("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessStat stat;
  fields >> stat.state;
  std::string field;
  uint64_t value = 0;
  for (int number = 4; number <= 24 && fields >> field; ++number) {
    if (std::from_chars(field.data(), field.data() + field.size(), value).ec != std::errc{}) value = 0;
    if (number == 4) stat.parent = static_cast<pid_t>(value);
    if (number == 14 || number == 15) stat.cpu_ticks += value;
    if (number == 22) stat.start_ticks = value;
    if (number == 24) stat.resident_pages = static_cast<int64_t>(value);
  }
  if (!fields || stat.start_ticks == 0) return std::nullopt;
  return stat;
}

ProcessKey process_key(pid_t pid) {
  const auto stat = pid > 0 ? process_stat(pid) : std::nullopt;
  if (!stat || stat->ended()) return {};
  return {pid, stat->start_ticks, boot()};
}

bool alive(const ProcessKey& key) {
  return key.pid > 0 && process_key(key.pid) == key;
}

nlohmann::json to_json(const ProcessKey& key) {
  return {{"pid", key.pid}, {"start_ticks", key.start_ticks}, {"boot", key.boot}};
}

ProcessKey process_key_from_json(const nlohmann::json& json) {
  return {json.at("pid").get<pid_t>(), json.at("start_ticks").get<uint64_t>(), json.at("boot").get<std::string>()};
}

}  // namespace linac
