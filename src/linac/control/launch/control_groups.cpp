#include "linac/control/launch/control_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "linac/base/base/fnv1a.h"
#include "linac/base/base/thread_facts.h"
#include "linac/control/launch/control_group.h"

namespace linac::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnified = "";  // version 2 has no controllers in its name
constexpr const char *kPrefix = "linac-", *kOwnGroup = "linac-service";

bool has_word(const std::string& text, const std::string& wanted) {
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (word == wanted) return true;
  return false;
}

// The parts of `text` between commas.
std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) found.push_back(word);
  return found;
}

// The folder of this process in each hierarchy, by controller (cgroups(7), /proc/PID/cgroup and /proc/PID/mountinfo).
std::map<std::string, fs::path> own_folders(const fs::path& self) {
  std::map<std::string, std::string> paths;
  std::istringstream groups(proc_text((self / "cgroup").string()));
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) paths[kUnified] = line.substr(second + 1);
    for (const std::string& name : parts(controllers)) paths[name] = line.substr(second + 1);
  }
  std::map<std::string, fs::path> folders;
  std::istringstream mounts(proc_text((self / "mountinfo").string()));
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream before(line), after(line.substr(std::min(line.find(" - "), line.size())));
    std::string number, parent, device, root, place, dash, type, source, options;
    before >> number >> parent >> device >> root >> place;
    after >> dash >> type >> source >> options;
    std::vector<std::string> names = parts(options);
    if (type == "cgroup2") names = {kUnified};
    if (type != "cgroup" && type != "cgroup2") continue;
    for (const std::string& name : names) {
      const auto path = paths.find(name);
      if (path == paths.end() || folders.contains(name)) continue;
      // What is mounted may be a part of the hierarchy, as containers have it.
      const fs::path within = fs::path(path->second).lexically_relative(root);
      if (within.empty() || *within.begin() == "..") continue;
      folders[name] = (place / within).lexically_normal();
      if (within == ".") folders[name] = place;
    }
  }
  return folders;
}

// Whether a group can be made in there that has this file.
bool can_make_with(const fs::path& folder, const char* file) {
  const fs::path probe = folder / fmt::format("{}probe-{}", kPrefix, getpid());
  if (folder.empty() || mkdir(probe.c_str(), 0755) != 0) return false;
  const bool there = access((probe / file).c_str(), W_OK) == 0;
  rmdir(probe.c_str());
  return there;
}

// systemd's mark on what it leaves to others (systemd.resource-control(5), Delegate=).
bool handed_over(const fs::path& folder) {
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    std::array<char, 4> value{};
    if (getxattr(folder.c_str(), name, value.data(), value.size()) == 1 && value[0] == '1') return true;
  }
  return false;
}

// A group that has processes of its own cannot hand controllers on, but the first of all.
bool hand_on(const fs::path& folder, const std::string& controller, bool is_whole) {
  if (!has_word(proc_text((folder / "cgroup.controllers").string()), controller)) return false;
  const fs::path handed = folder / "cgroup.subtree_control";
  if (has_word(proc_text(handed.string()), controller) || tell_kernel(handed.string(), "+" + controller)) return true;
  if (errno != EBUSY || !is_whole) return false;
  const fs::path own = folder / kOwnGroup;
  if (mkdir(own.c_str(), 0755) != 0 && errno != EEXIST) return false;
  return tell_kernel((own / "cgroup.procs").string(), "0") && tell_kernel(handed.string(), "+" + controller);
}

struct Controller {
  const char* name;
  std::string GroupPlace::*folder;
  const char* file;  // of version 1, that its groups have
};
constexpr Controller kControllers[] = {{"memory", &GroupPlace::memory, "memory.limit_in_bytes"},
                                       {"pids", &GroupPlace::pids, "pids.max"},
                                       {"cpu", &GroupPlace::cpu, "cpu.cfs_quota_us"}};

}  // namespace

ControlGroups ControlGroups::of_host(const fs::path& self) {
  const auto own = own_folders(self);
  const auto folder_of = [&](const char* name) { return own.contains(name) ? own.at(name) : fs::path(); };
  ControlGroups groups;
  GroupPlace& below = groups.below_;
  fs::path unified = folder_of(kUnified);
  // Of a container, as of a host, the group of the whole has no other beside it.
  const bool is_whole = has_word(proc_text((self / "cgroup").string()), "0::/");
  if (!unified.empty() && !is_whole && handed_over(unified.parent_path())) unified = unified.parent_path();
  if (can_make_with(unified, "cgroup.kill")) below.unified = unified;
  for (const Controller& one : kControllers) {
    if (!below.unified.empty() && hand_on(unified, one.name, is_whole))
      below.*one.folder = below.unified;
    else if (can_make_with(folder_of(one.name), one.file))
      below.*one.folder = folder_of(one.name);
  }
  if (below.unified.empty() && can_make_with(folder_of("freezer"), "freezer.state"))
    below.freezer = folder_of("freezer");
  return groups;
}

GroupPlace ControlGroups::place(const std::string& label, const fs::path& folder) const {
  // The folder as well: two services of which one is a copy of the other know the same labels.
  const std::string name = fmt::format("{}{}-{:016x}", kPrefix, label, fnv1a_64(folder.string()));
  GroupPlace place = below_;
  for (std::string* one : {&place.unified, &place.freezer, &place.memory, &place.pids, &place.cpu})
    if (!one->empty()) *one += "/" + name;
  return place;
}

std::string ControlGroups::said() const {
  std::vector<std::string> lacking;
  for (const auto& [folder, what] : {std::pair(below_.memory, "memory"), std::pair(below_.pids, "number of processes"),
                                     std::pair(below_.cpu, "time on cores")})
    if (folder.empty()) lacking.emplace_back(what);
  const bool any = below_ != GroupPlace();
  if (lacking.empty())
    return fmt::format(
        "Each job has a control group (version {}): what it starts is counted, bounded and ends with it.",
        below_.memory == below_.unified ? 2 : 1);
  return fmt::format(
      "{}, so there is no bound on a job's {}: let systemd hand them over (Delegate=yes, DelegateSubgroup=service), or "
      "start the service in a container that may write its own.",
      any ? "Control groups for jobs are not all there" : "There are no control groups for jobs here",
      fmt::join(lacking, ", "));
}

}  // namespace linac::launch
