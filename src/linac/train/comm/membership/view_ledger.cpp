#include "linac/train/comm/membership/view_ledger.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"

namespace linac::comm {
namespace {

namespace fs = std::filesystem;

View read_view(const fs::path& path) {
  try {
    return nlohmann::json::parse(read_file(path)).get<View>();
  } catch (const nlohmann::json::exception& error) {
    throw environment_error(fmt::format("[comm] {}: not a view of a run ({}); remove it", path.string(), error.what()));
  }
}

}  // namespace

View ViewLedger::note(int64_t number, const View& next) const {
  make_folder(folder_);
  const fs::path path = folder_ / fmt::format("{}-after-{:06}.json", run_, number);
  const fs::path draft = folder_ / fmt::format(".{}-{:016x}", path.filename().string(), next.proposer);
  write_file_atomically(draft, nlohmann::json(next).dump() + "\n");
  const bool first = link(draft.c_str(), path.c_str()) == 0;
  const int why = errno;
  std::error_code ignored;
  fs::remove(draft, ignored);
  if (first) return next;
  if (why != EEXIST) {
    throw environment_error(
        fmt::format("[comm] {}: cannot be written ({}); is the run's folder on a disk with hard "
                    "links?",
                    path.string(), std::strerror(why)));
  }
  return read_view(path);
}

std::string ViewLedger::folder_mark() const {
  std::random_device device;
  const std::string mine = fmt::format("{:08x}{:08x}", device(), device());
  const fs::path path = folder_ / fmt::format(".{}-folder", run_), draft = path.string() + "." + mine;
  try {
    make_folder(folder_);
    write_file_atomically(draft, mine);
    const bool first = link(draft.c_str(), path.c_str()) == 0;
    std::error_code ignored;
    fs::remove(draft, ignored);
    return first ? mine : read_file(path);
  } catch (const Error&) {
    return "";
  }
}

std::vector<std::string> ViewLedger::join_addresses(const fs::path& folder) {
  fs::path newest;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (entry.path().extension() != ".json" || entry.path().filename().string().starts_with(".")) continue;
    if (newest.empty() || entry.last_write_time() >= fs::last_write_time(newest)) newest = entry.path();
  }
  std::vector<std::string> addresses;
  if (newest.empty()) return addresses;
  const std::string name = newest.filename().string(), run = name.substr(0, name.find("-after-"));
  for (const Member& member : read_view(newest).members) addresses.push_back(run + "@" + member.address);
  return addresses;
}

}  // namespace linac::comm
