#include "linac/train/comm/membership/view_ledger.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <random>
#include <regex>
#include <tuple>

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

// "s3rRANDOM-after-000007.json": of the third run in this folder. Before the runs were counted they had no "s3r".
struct NotedView {
  fs::path path;
  std::string run;
  int64_t sitting = 0, number = 0;
};

std::optional<NotedView> view_of(const fs::path& path) {
  static const std::regex form("((?:s([0-9]{1,15})r)?[0-9a-f]+)-after-([0-9]{1,18})\\.json");
  std::smatch match;
  const std::string name = path.filename().string();
  if (!std::regex_match(name, match, form)) return std::nullopt;
  return NotedView{.path = path,
                   .run = match[1],
                   .sitting = match[2].matched ? std::stoll(match[2]) : 0,
                   .number = std::stoll(match[3])};
}

std::optional<NotedView> last_view(const fs::path& folder) {
  std::optional<NotedView> last;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    std::optional<NotedView> view = view_of(entry.path());
    if (!view) continue;
    if (!last || std::tie(view->sitting, view->run, view->number) > std::tie(last->sitting, last->run, last->number))
      last = std::move(view);
  }
  return last;
}

}  // namespace

View ViewLedger::note(int64_t number, const View& next) const {
  // Never with its parents: a run's folder that was removed is not made anew.
  if (std::error_code error; !fs::create_directory(folder_, error) && error)
    throw environment_error(fmt::format("[file] {}: folder cannot be made ({})", folder_.string(), error.message()));
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

std::string ViewLedger::next_run(const fs::path& folder) {
  std::random_device device;
  const std::optional<NotedView> last = last_view(folder);
  return fmt::format("s{}r{:08x}{:08x}{:08x}", last ? last->sitting + 1 : 1, device(), device(), device());
}

std::vector<std::string> ViewLedger::join_addresses(const fs::path& folder) {
  std::vector<std::string> addresses;
  const std::optional<NotedView> last = last_view(folder);
  if (!last) return addresses;
  for (const Member& member : read_view(last->path).members) addresses.push_back(last->run + "@" + member.address);
  return addresses;
}

}  // namespace linac::comm
