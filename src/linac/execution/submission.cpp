#include "linac/execution/submission.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "linac/base/error.h"
#include "linac/base/refusal.h"
#include "linac/base/secure_random.h"
#include "linac/launch/accounts.h"
#include "linac/spec/job.h"
#include "linac/storage/storage.h"

namespace linac::execution {
namespace {

// While it lives, this thread sees files as an account of the host does: whoever submits learns nothing of other
// people's files.
class SeenAs {
 public:
  explicit SeenAs(const std::string& account) {
    if (account.empty() || account == launch::own_account() || geteuid() != 0) return;
    const passwd* entry = getpwnam(account.c_str());
    if (entry == nullptr) return;
    group_ = setfsgid(entry->pw_gid);
    user_ = setfsuid(entry->pw_uid);
    changed_ = true;
  }
  ~SeenAs() {
    if (!changed_) return;
    setfsuid(static_cast<uid_t>(user_));
    setfsgid(static_cast<gid_t>(group_));
  }
  SeenAs(const SeenAs&) = delete;
  SeenAs& operator=(const SeenAs&) = delete;

 private:
  int user_ = 0, group_ = 0;
  bool changed_ = false;
};

bool is_url(const std::string& path) {
  return path.find("://") != std::string::npos;
}

void make_absolute(std::string& path, const std::string& directory) {
  if (!spec::is_relative_path(path)) return;
  if (directory.empty() || !directory.starts_with('/')) {
    throw Refusal(
        RefusalKind::kInvalid,
        fmt::format("[submit] '{}' is a relative path, and the request names no directory; write it from / on", path));
  }
  path = (std::filesystem::path(directory) / path).lexically_normal().string();
}

std::string why_not_readable(const std::string& pattern) {
  try {
    for (const std::string& file : storage::expand(pattern)) {
      if (is_url(file)) continue;
      if (!std::filesystem::exists(file))
        return fmt::format("[data] {}: there is no such file on the service's host", file);
      if (!std::ifstream(file)) return fmt::format("[data] {}: cannot be read there", file);
    }
    return "";
  } catch (const Error& error) {
    return error.what();
  } catch (const std::filesystem::filesystem_error& error) {
    return fmt::format("[data] {}: cannot be read there ({})", pattern, error.code().message());
  }
}

// Each pattern is looked up once for a whole array.
class FileCheck {
 public:
  std::string problem(spec::Job& job) {
    for (const std::string* file : spec::files_of(job)) {
      if (file->empty() || file->starts_with('~')) continue;
      const auto [found, fresh] = known_.try_emplace(*file);
      if (fresh) found->second = why_not_readable(*file);
      if (!found->second.empty()) return found->second;
    }
    return "";
  }

 private:
  std::map<std::string, std::string> known_;
};

catalog::Resources resources_for(const spec::Job& job, catalog::Resources wanted, const launch::Demand& all) {
  // What nobody asked for is not worth waiting for: with fewer cores the same job takes longer, and says the same.
  if (wanted.cores == 0)
    wanted.cores = std::clamp<int64_t>(static_cast<int64_t>(job.workers) * job.train.threads, 1, all.cores);
  if (wanted.gpus == 0 && job.train.device == "cuda") wanted.gpus = 1;
  if (const std::string why = launch::why_never({wanted.cores, wanted.memory_mb, wanted.gpus}, all); !why.empty())
    throw Refusal(RefusalKind::kInvalid, fmt::format("[submit] it could never start: {}; ask for less", why));
  return wanted;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

spec::Job parsed(const SubmissionRequest& request, const std::vector<std::string>& overrides, std::string& problem) {
  try {
    const spec::PathPlaces places{request.folder, request.directory};
    const bool placed = request.folder.starts_with('/') && request.directory.starts_with('/');
    return spec::parse_job(request.job, request.file, overrides, placed ? &places : nullptr);
  } catch (const spec::MissingPath& missing) {
    problem = missing.what();
    return spec::parse_job(request.job, request.file, overrides);
  } catch (const YAML::Exception& error) {
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[submit] {} is no YAML that can be read ({})", request.file, error.what()));
  }
}

PreparedJob prepare_one(const SubmissionRequest& request, const launch::Demand& all,
                        const std::vector<std::string>& own, FileCheck& check) {
  std::vector<std::string> overrides = request.overrides;
  overrides.insert(overrides.end(), own.begin(), own.end());
  PreparedJob prepared;
  spec::Job job = parsed(request, overrides, prepared.problem);
  for (std::string* file : spec::files_of(job)) make_absolute(*file, request.directory);
  prepared.run.experiment = request.experiment;
  prepared.run.name = request.name.empty() ? job.name : request.name;
  prepared.run.user = request.user;
  prepared.run.state = catalog::RunState::kPending;
  prepared.run.tags = {
      {"mlflow.user", request.user}, {"mlflow.source.type", "JOB"}, {"mlflow.source.name", "linac train"}};
  if (!overrides.empty()) prepared.run.tags["linac.set"] = joined(overrides);
  prepared.wishes = request.wishes;
  prepared.wishes.resources = resources_for(job, request.wishes.resources, all);
  prepared.job = spec::to_yaml(job);
  if (prepared.problem.empty()) prepared.problem = check.problem(job);
  return prepared;
}

}  // namespace

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
  const SeenAs account(request.account);
  FileCheck check;
  std::vector<PreparedJob> jobs;
  if (request.array.empty()) {
    jobs.push_back(prepare_one(request, all, {}, check));
    return jobs;
  }
  const std::string group = random_hex(12);
  for (size_t i = 0; i < request.array.size(); ++i) {
    jobs.push_back(prepare_one(request, all, request.array[i], check));
    jobs.back().run.name += fmt::format("-{}", i + 1);
    jobs.back().run.tags["linac.group"] = group;
    jobs.back().run.tags["linac.group.index"] = std::to_string(i + 1);
  }
  return jobs;
}

}  // namespace linac::execution
