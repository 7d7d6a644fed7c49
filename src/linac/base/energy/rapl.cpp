#include "linac/base/energy/rapl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "linac/base/base/plural.h"
#include "linac/base/base/thread_facts.h"

namespace linac::energy {
namespace {

namespace fs = std::filesystem;

/// A number that is not negative, alone in its line.
std::optional<int64_t> number_in(const std::string& text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || value < 0 || (next != end && *next != '\n')) return std::nullopt;
  return value;
}

std::string text_of(const fs::path& file) {
  std::error_code none;
  return fs::is_regular_file(file, none) ? proc_text(file.string()) : "";  // a pipe would never end
}

std::string name_of(const fs::path& zone) {
  std::string name = text_of(zone / "name");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

/// "intel-rapl:0" of "intel-rapl:0:1".
fs::path parent_of(const fs::path& zone) {
  const std::string name = zone.filename().string();
  return zone.parent_path() / name.substr(0, name.rfind(':'));
}

}  // namespace

Rapl::Rapl(fs::path sys) : folder_(std::move(sys) / "class/powercap") {}

bool Rapl::count(const fs::path& zone, const std::string& name) {
  const fs::path file = zone / "energy_uj";
  const auto now_uj = number_in(text_of(file));
  if (!now_uj) {
    const bool closed = ::access(file.c_str(), R_OK) != 0;
    trouble_ = fmt::format("{}: {}", file.string(), closed ? std::strerror(errno) : "holds no number");
    return false;
  }
  const auto [found, fresh] = counters_.try_emplace(name);
  Counter& counter = found->second;
  if (fresh) counter.range_uj = number_in(text_of(zone / "max_energy_range_uj")).value_or(0);
  if (!fresh) {
    const int64_t wrapped = *now_uj < counter.last_uj ? counter.range_uj : 0;
    joules_ += 1e-6 * static_cast<double>(std::max<int64_t>(0, *now_uj - counter.last_uj + wrapped));
  }
  counter.last_uj = *now_uj;
  return true;
}

std::optional<double> Rapl::read() {
  std::vector<fs::path> zones;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) zones.push_back(entry.path());
  // "intel-rapl:0" before "intel-rapl-mmio:0", which is the same package.
  std::ranges::sort(zones, {}, [](const fs::path& zone) {
    return std::pair(zone.string().find("-mmio") != std::string::npos, zone.string());
  });
  trouble_ = error ? fmt::format("{}: {}", folder_.string(), error.message())
                   : fmt::format("{}: has no package", folder_.string());
  std::map<std::string, bool> packages, memories;  // whether it could be read
  for (const fs::path& zone : zones) {
    const std::string name = name_of(zone);
    if (name.starts_with("package-") && !packages[name]) packages[name] = count(zone, name);
    if (!name.starts_with("dram")) continue;
    const std::string of_package = name_of(parent_of(zone)) + " " + name;
    if (!memories[of_package]) memories[of_package] = count(zone, of_package);
  }
  const auto readable = [](const std::map<std::string, bool>& zones_of) {
    return std::ranges::count_if(zones_of, [](const auto& zone) { return zone.second; });
  };
  if (readable(packages) > 0) {
    words_ = fmt::format("{}{}", plural(readable(packages), "package"), readable(memories) > 0 ? " and memory" : "");
    const auto lost = static_cast<int64_t>(packages.size()) - readable(packages);
    if (lost > 0) words_ += fmt::format(" ({} more cannot be read: {})", lost, trouble_);
    return joules_;
  }
  for (const fs::path& zone : zones) {
    if (name_of(zone) != "psys" || !count(zone, "psys")) continue;
    words_ = "psys, the whole board";
    return joules_;
  }
  words_ = trouble_;
  return std::nullopt;
}

}  // namespace linac::energy
