#include "linac/control/sites/record.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/sole_lock.h"
#include "linac/base/base/user_files.h"
#include "linac/control/sites/label.h"

namespace linac::sites {

using nlohmann::json;

json to_json(const KeptLaunch& kept) {
  const Record& record = kept.record;
  return {{"label", record.label},
          {"site", record.site},
          {"kind", record.kind},
          {"folder", record.folder},
          {"out", record.out},
          {"id", record.id},
          {"hosts", record.hosts},
          {"script", record.script},
          {"changes", record.changes},
          {"array", record.array},
          {"index", record.index},
          {"job", record.script || kept.launch.agents ? "" : kept.launch.job},
          {"workers", kept.launch.workers},
          {"workers_min", kept.launch.workers_min},
          {"seconds_max", kept.launch.seconds_max},
          {"key", kept.launch.key},
          {"part", kept.launch.part},
          {"joins", kept.launch.joins},
          {"exclude", kept.launch.exclude},
          {"submitted", kept.submitted},
          {"digest", kept.digest},
          {"started_ms", kept.started_ms},
          {"ended", kept.ended}};
}

KeptLaunch kept_from_json(const json& from) {
  KeptLaunch kept;
  Record& record = kept.record;
  from.at("label").get_to(record.label);
  from.at("site").get_to(record.site);
  from.at("kind").get_to(record.kind);
  from.at("folder").get_to(record.folder);
  from.at("out").get_to(record.out);
  from.at("id").get_to(record.id);
  from.at("hosts").get_to(record.hosts);
  record.script = from.value("script", false);
  record.changes = from.value("changes", std::map<std::string, std::string>());
  record.array = from.value("array", "");
  record.index = from.value("index", 0);
  kept.launch.job = from.value("job", "");
  from.at("workers").get_to(kept.launch.workers);
  from.at("workers_min").get_to(kept.launch.workers_min);
  from.at("seconds_max").get_to(kept.launch.seconds_max);
  from.at("key").get_to(kept.launch.key);
  kept.launch.part = from.value("part", false);
  kept.launch.joins = from.value("joins", false);
  kept.launch.exclude = from.value("exclude", std::vector<std::string>());
  from.at("digest").get_to(kept.digest);
  from.at("started_ms").get_to(kept.started_ms);
  from.at("ended").get_to(kept.ended);
  from.at("submitted").get_to(kept.submitted);
  kept.launch.label = record.label;
  kept.launch.out = record.out;
  return kept;
}

namespace {

std::filesystem::path state_folder(const std::string& site) {
  const auto state = user_folder("XDG_STATE_HOME", ".local/state");
  if (!state) throw user_error("[launch] neither HOME nor XDG_STATE_HOME is set; set one");
  return *state / "launches" / site;
}

std::optional<KeptLaunch> read(const std::filesystem::path& file, const std::string& site) {
  constexpr uintmax_t kBytesMax = 16 << 20;  // thousands of hosts have room
  try {
    std::error_code error;
    if (std::filesystem::file_size(file, error) > kBytesMax) return {};
    KeptLaunch kept = kept_from_json(json::parse(read_file(file)));
    if (is_label(kept.record.label) && file.stem() == kept.record.label && kept.record.site == site) return kept;
  } catch (const json::exception&) {
  } catch (const Error&) {
  }
  return {};
}

}  // namespace

void keep(const KeptLaunch& launch) {
  const PrivateFiles mine;
  const auto folder = state_folder(launch.record.site);
  make_folder(folder);
  write_file_atomically(folder / (launch.record.label + ".json"),
                        to_json(launch).dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

void forget(const Record& record) {
  std::error_code error;
  std::filesystem::remove(state_folder(record.site) / (record.label + ".json"), error);
}

std::vector<KeptLaunch> kept_launches(const std::string& site) {
  std::vector<KeptLaunch> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(state_folder(site), error)) {
    if (entry.path().extension() != ".json" || !entry.is_regular_file(error)) continue;
    if (auto kept = read(entry.path(), site)) all.push_back(std::move(*kept));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(b.started_ms, b.record.label) < std::pair(a.started_ms, a.record.label);
  });
  return all;
}

KeptLaunch find_launch(const std::string& site, const std::string& label, bool only_one) {
  std::vector<KeptLaunch> found;
  std::vector<std::string> names;
  for (KeptLaunch& kept : kept_launches(site)) {
    names.push_back(kept.record.label);
    if (kept.record.label == label) return kept;
    if (!label.empty() && kept.record.label.starts_with(label)) found.push_back(std::move(kept));
  }
  if (found.size() > 1 && only_one) {
    throw user_error(fmt::format("[launch] {} launches at {} begin with '{}', {} and {} among them; write more of it",
                                 found.size(), site, label, found[0].record.label, found[1].record.label));
  }
  if (!found.empty()) return found.front();
  const auto near = nearest(label, names);
  throw user_error(
      fmt::format("[launch] no launch '{}' at {} from here; {}", label, site,
                  near ? fmt::format("did you mean {}?", *near) : fmt::format("`linac status {}:` lists them", site)));
}

LaunchLock::LaunchLock(const std::string& site) {
  const PrivateFiles mine;
  const auto folder = state_folder(site);
  make_folder(folder);
  const auto path = folder / "lock";
  file_ = Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file_)
    throw environment_error(fmt::format("[launch] {}: cannot be opened ({})", path.string(), std::strerror(errno)));
  if (!lock_alone(file_.get(), kForever))
    throw environment_error(fmt::format("[launch] {}: cannot be locked ({})", path.string(), std::strerror(errno)));
}

}  // namespace linac::sites
