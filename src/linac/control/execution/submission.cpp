#include "linac/control/execution/submission.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/glob.h"
#include "linac/base/base/hex.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/secure_random.h"
#include "linac/base/job/hidden_paths.h"
#include "linac/base/job/job.h"
#include "linac/base/job/run_choice.h"
#include "linac/control/catalog/records.h"
#include "linac/control/launch/accounts.h"
#include "linac/control/launch/sandbox.h"
#include "linac/io/storage/storage.h"

namespace linac::execution {
namespace {

// While it lives, this thread sees files as an account of the host does: whoever submits learns nothing of other
// people's files. Groups are set for this thread alone by the system call; the library's function sets all threads'.
class SeenAs {
 public:
  explicit SeenAs(const std::string& account) {
    if (account.empty() || account == launch::own_account() || geteuid() != 0) return;
    const passwd* entry = getpwnam(account.c_str());
    if (entry == nullptr) return;
    int count = 64;
    std::vector<gid_t> groups(static_cast<size_t>(count));
    if (getgrouplist(account.c_str(), entry->pw_gid, groups.data(), &count) < 0) count = 1;  // the account's own
    own_groups_.resize(static_cast<size_t>(std::max(0, getgroups(0, nullptr))));
    if (getgroups(static_cast<int>(own_groups_.size()), own_groups_.data()) < 0) own_groups_.clear();
    if (syscall(SYS_setgroups, static_cast<size_t>(count), groups.data()) != 0)
      throw environment_error("[submit] files cannot be looked at as another account does");
    group_ = setfsgid(entry->pw_gid);
    user_ = setfsuid(entry->pw_uid);
    changed_ = true;
  }
  ~SeenAs() {
    if (!changed_) return;
    setfsuid(static_cast<uid_t>(user_));
    setfsgid(static_cast<gid_t>(group_));
    syscall(SYS_setgroups, own_groups_.size(), own_groups_.data());
  }
  SeenAs(const SeenAs&) = delete;
  SeenAs& operator=(const SeenAs&) = delete;

 private:
  std::vector<gid_t> own_groups_;
  int user_ = 0, group_ = 0;
  bool changed_ = false;
};

void make_absolute(std::string& path, const std::string& directory) {
  if (!job::is_relative_path(path)) return;
  if (directory.empty() || !directory.starts_with('/')) {
    throw Refusal(
        RefusalKind::kInvalid,
        fmt::format("[submit] '{}' is a relative path, and the request names no directory; write it from / on", path));
  }
  path = (std::filesystem::path(directory) / path).lexically_normal().string();
}

// A relative path would be of the folder of whoever submits, which no agent and no site sees.
void refuse_relative(job::Job& job) {
  for (const std::string* path : job::files_of(job))
    if (job::is_relative_path(*path))
      throw Refusal(
          RefusalKind::kInvalid,
          fmt::format("[submit] '{}' is a relative path, and agents and sites have no folder of yours; give a "
                      "URL, or an absolute path of their hosts (and, for agents, --tags of such hosts)",
                      *path));
}

/// The names in the service's own folders are other people's experiments, runs and models. Who knows the id of a run
/// may find its files.
BoundedGlobs::Hides hiding(const std::string& hidden) {
  if (hidden.empty()) return {};
  return [hidden](const std::string& folder) {
    if (!launch::lies_in(folder, hidden)) return false;
    constexpr size_t kIdDigits = 32;
    std::string before;
    for (const auto& part : std::filesystem::path(folder).lexically_relative(hidden)) {
      const bool id = before.size() == kIdDigits && is_hex(before);
      if (id && part == "artifacts") return false;
      before = part.string();
    }
    return true;
  };
}

// Looks at the files that jobs name as whoever submits may. What is not there, not his to read, or no file has one
// sentence: nobody finds out by it what the host has.
class FileCheck {
 public:
  explicit FileCheck(const SubmissionRequest& request)
      : hides_(hiding(request.hidden)),
        sandbox_(request.sandbox ? launch::places_in(*request.sandbox) : launch::Places()) {}

  std::string problem(job::Job& job) {
    for (const std::string* file : job::files_of(job)) {
      if (file->empty() || file->starts_with('~')) continue;
      const auto [found, fresh] = known_.try_emplace(*file);  // once for a whole array
      if (fresh) found->second = why_not_readable(job::split_choice(*file).run);
      if (!found->second.empty()) return found->second;
    }
    return "";
  }

  // Opening a FIFO may wait for ever, and a device may do something: first it is looked at without.
  bool can_be_read(const std::string& file) const {
    const Descriptor place(::open(file.c_str(), O_PATH | O_CLOEXEC));
    struct stat about {};
    if (!place || ::fstat(place.get(), &about) != 0 || !(S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)))
      return false;
    const std::string same = fmt::format("/proc/self/fd/{}", place.get());
    std::error_code error;
    const std::string real = std::filesystem::read_symlink(same, error).string();  // where links have led
    if (error || is_hidden(real)) return false;
    return static_cast<bool>(Descriptor(::open(same.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)));
  }

 private:
  // What lies below /tmp is shown to a job that names it.
  bool is_hidden(const std::string& real) const {
    if (hides_ && hides_(real)) return true;
    const std::string folder = sandbox_.hidden_with(real);
    return !folder.empty() && folder != "/tmp" && folder != "/var/tmp";
  }

  std::string why_not_readable(const std::string& pattern) const {
    const std::string no_file =
        fmt::format("[data] {}: there is no file that this job may read, on the service's host", pattern);
    try {
      // What lies elsewhere is looked up by the job, with the keys of its environment and not with those of the
      // service.
      if (storage::is_remote(pattern)) return "";
      for (const std::string& file : storage::expand(pattern))
        if (!can_be_read(file)) return no_file;
      return "";
    } catch (const Error& error) {
      return error.code() == ErrorCode::kData ? no_file : error.what();
    } catch (const std::filesystem::filesystem_error&) {
      return no_file;
    }
  }

  const BoundedGlobs::Hides hides_;
  const launch::Places sandbox_;
  std::map<std::string, std::string> known_;
};

catalog::Resources resources_for(const job::Job& job, catalog::Resources wanted, const launch::Demand& all) {
  // What nobody asked for is not worth waiting for: with fewer cores the same job takes longer, and says the same.
  if (wanted.cores == 0)
    wanted.cores = std::clamp<int64_t>(static_cast<int64_t>(job.workers) * job.train.threads, 1, all.cores);
  if (wanted.gpus == 0 && job.train.device == "cuda")
    wanted.gpus = std::max<int64_t>(1, int64_t{job.workers} * job.distribution.devices_per_worker);
  if (const std::string why = launch::why_never({wanted.cores, wanted.memory_mb, wanted.gpus}, all); !why.empty())
    throw Refusal(RefusalKind::kInvalid, fmt::format("[submit] it could never start: {}; ask for less", why));
  return wanted;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Refusal no_yaml(const SubmissionRequest& request, const YAML::Exception& error) {
  return {RefusalKind::kInvalid,
          fmt::format("[submit] {} is no YAML that can be read ({})", request.file, error.what())};
}

job::Job parsed(const SubmissionRequest& request, const std::vector<std::string>& overrides, const FileCheck& check,
                std::string& problem) {
  try {
    const job::HiddenPaths hidden([&](const std::filesystem::path& path) { return !check.can_be_read(path); });
    const job::PathPlaces places{request.folder, request.directory};
    const bool placed = request.folder.starts_with('/') && request.directory.starts_with('/');
    return job::parse_job(request.job, request.file, overrides, placed ? &places : nullptr);
  } catch (const job::MissingPath& missing) {
    problem = missing.what();
    return job::parse_job(request.job, request.file, overrides);
  } catch (const YAML::Exception& error) {
    throw no_yaml(request, error);
  }
}

job::Job parsed_for_elsewhere(const SubmissionRequest& request, const std::vector<std::string>& overrides) {
  try {
    job::Job job = job::parse_job(request.job, request.file, overrides);
    refuse_relative(job);
    return job;
  } catch (const YAML::Exception& error) {
    throw no_yaml(request, error);
  }
}

PreparedJob prepare_one(const SubmissionRequest& request, const launch::Demand& all,
                        const std::vector<std::string>& own, FileCheck& check) {
  std::vector<std::string> overrides = request.overrides;
  overrides.insert(overrides.end(), own.begin(), own.end());
  PreparedJob prepared;
  const bool here = request.wishes.place == catalog::kOwnHost;
  job::Job job = here ? parsed(request, overrides, check, prepared.problem) : parsed_for_elsewhere(request, overrides);
  if (here)
    for (std::string* file : job::files_of(job)) make_absolute(*file, request.directory);
  if (!here && request.wishes.place != catalog::kPilots && !job.secrets.empty())
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[submit] the job asks for secrets, which are not brought to {}: others could read them "
                              "there; leave `secrets` out (an admin may declare keys with the site), or take --on {}",
                              request.wishes.place, catalog::kPilots));
  prepared.run.experiment = request.experiment;
  prepared.run.name = request.name.empty() ? job.name : request.name;
  prepared.run.user = request.user;
  prepared.run.state = catalog::RunState::kPending;
  prepared.run.tags = {
      {"mlflow.user", request.user}, {"mlflow.source.type", "JOB"}, {"mlflow.source.name", "linac train"}};
  if (!overrides.empty()) prepared.run.tags["linac.set"] = joined(overrides);
  prepared.wishes = request.wishes;
  prepared.wishes.resources = resources_for(job, request.wishes.resources, all);
  prepared.secrets = job.secrets;
  prepared.job = job::to_yaml(job);
  if (here && prepared.problem.empty()) prepared.problem = check.problem(job);
  return prepared;
}

}  // namespace

std::string name_of_member(const std::string& all, const std::string& number,
                           const std::vector<std::string>& settings) {
  constexpr size_t kWordsMax = 100;
  const auto end_of = [](const std::string& setting) {
    const std::string key = setting.substr(0, setting.find('='));
    return setting.substr(key.rfind('.') + 1);  // npos + 1 is 0
  };
  const auto key_of = [](const std::string& word) { return word.substr(0, word.find('=')); };
  std::map<std::string, int> ends;
  for (const std::string& setting : settings) ++ends[key_of(end_of(setting))];
  std::string words;
  for (const std::string& setting : settings) {
    const std::string end = end_of(setting), word = " " + (ends[key_of(end)] == 1 ? end : setting);
    if (words.size() + word.size() > kWordsMax) {
      words += " ...";
      break;
    }
    words += word;
  }
  for (char& letter : words)
    if (static_cast<unsigned char>(letter) < ' ') letter = ' ';
  const std::string name = fmt::format("{}-{}", all, number);
  return name.size() + words.size() > catalog::kNameMax ? name : name + words;
}

std::vector<PreparedJob> prepare(const SubmissionRequest& request, const launch::Demand& all, bool price_known) {
  if (request.array.size() > kArrayMax) {
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[submit] an array of {} jobs; {} are the most", request.array.size(), kArrayMax));
  }
  if (request.wishes.cost_max > 0 && !price_known) {
    throw Refusal(
        RefusalKind::kInvalid,
        "[submit] a limit of cost, but this service knows no price; use a limit of time, or start it with --price");
  }
  if (request.job.size() > kJobBytesMax || request.overrides.size() > kOverridesMax) {
    throw Refusal(RefusalKind::kInvalid, fmt::format("[submit] a job has at most {} bytes, and {} settings beside it",
                                                     kJobBytesMax, kOverridesMax));
  }
  const auto begin = std::chrono::steady_clock::now();
  const SeenAs account(request.account);
  const BoundedGlobs bounds(BoundedGlobs::kOfStrangers, hiding(request.hidden));
  FileCheck check(request);
  std::vector<PreparedJob> jobs;
  if (request.array.empty()) {
    jobs.push_back(prepare_one(request, all, {}, check));
    return jobs;
  }
  const std::string group = random_hex(12);
  for (size_t i = 0; i < request.array.size(); ++i) {
    if (std::chrono::steady_clock::now() - begin > kPrepareMax)
      throw Refusal(RefusalKind::kLimit, "[submit] so many jobs take too long to be checked; submit them in parts");
    jobs.push_back(prepare_one(request, all, request.array[i], check));
    jobs.back().run.name = name_of_member(jobs.back().run.name, std::to_string(i + 1), request.array[i]);
    jobs.back().run.tags["linac.group"] = group;
    jobs.back().run.tags["linac.group.index"] = std::to_string(i + 1);
  }
  return jobs;
}

}  // namespace linac::execution
