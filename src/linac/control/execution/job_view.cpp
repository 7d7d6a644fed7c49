#include "linac/control/execution/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/glob.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/job/job.h"
#include "linac/base/job/run_choice.h"
#include "linac/control/catalog/artifact_location.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/launch/accounts.h"
#include "linac/control/launch/sandbox.h"

namespace linac::execution {
namespace {

namespace fs = std::filesystem;

constexpr size_t kInputsMax = 1000;
constexpr const char* kTemporary[] = {"/tmp", "/var/tmp"};

const char* shared_cache() {
  const char* folder = std::getenv("LINAC_CACHE");
  return folder != nullptr && *folder == '/' ? folder : nullptr;
}

bool is_temporary(const std::string& path) {
  return std::any_of(std::begin(kTemporary), std::end(kTemporary),
                     [&](const char* folder) { return launch::lies_in(path, folder); });
}

/// The files of a run of this user that `path`, below the folder of artefacts, lies in.
std::optional<fs::path> own_run_with(Host& host, const std::string& user, const fs::path& path) {
  fs::path folder;
  std::string before;
  for (const fs::path& part : path) {
    folder /= part;
    if (part == "artifacts") {
      try {
        const catalog::Run run = host.run(before);
        const auto place = catalog::own_artifacts(run.artifact_uri);
        if (run.user == user && place && folder == *place) return host.artifacts / folder;
      } catch (const Error&) {  // no run
      }
    }
    before = part.string();
  }
  return std::nullopt;
}

class Inputs {
 public:
  Inputs(Host& host, const Sandboxes& sandboxes, std::string user, launch::View& view)
      : host_(host), sandboxes_(sandboxes), user_(std::move(user)), view_(view) {}

  // Only those that the sandbox would hide: others may lie on a disk that does not answer.
  void add(const std::string& pattern) {
    const std::string named = fs::path(pattern).lexically_normal();
    const std::string artifacts = fs::absolute(host_.artifacts);
    if (launch::lies_in(named, artifacts)) {
      if (const auto run = own_run_with(host_, user_, fs::path(named).lexically_relative(artifacts))) show(*run);
    } else if (is_temporary(named)) {
      for (const std::string& path : files_of(named)) add_temporary(path);
    }
  }

 private:
  static std::vector<std::string> files_of(const std::string& pattern) {
    std::error_code error;
    if (fs::exists(pattern, error)) return {pattern};
    const BoundedGlobs bounds(BoundedGlobs::kOfStrangers);
    try {
      return glob_paths(pattern);
    } catch (const Error&) {
      return {};
    }
  }
  // A link may lead anywhere: to what is hidden, not in here.
  void add_temporary(const std::string& path) {
    std::error_code error;
    const std::string real = fs::canonical(path, error);
    const auto type = fs::status(real, error).type();
    if (error || (type != fs::file_type::regular && type != fs::file_type::directory)) return;
    bool service = launch::lies_in(real, fs::absolute(host_.data)) || launch::lies_in(fs::absolute(host_.data), real);
    for (const std::string& hidden : sandboxes_.hidden)
      service = service || launch::lies_in(real, hidden) || launch::lies_in(hidden, real);
    const bool a_place_of_all =
        std::any_of(std::begin(kTemporary), std::end(kTemporary), [&](const char* folder) { return real == folder; });
    if (is_temporary(real) && !service && !a_place_of_all) show(path);
  }
  void show(const std::string& named) {
    const auto known = std::find(view_.readable.begin(), view_.readable.end(), named);
    if (view_.readable.size() < kInputsMax && known == view_.readable.end()) view_.readable.push_back(named);
  }

  Host& host_;
  const Sandboxes& sandboxes_;
  const std::string user_;
  launch::View& view_;
};

}  // namespace

std::optional<launch::View> view_of_all(const Sandboxes& sandboxes, const std::string& account) {
  if (sandboxes.isolation != Isolation::kSandbox || account != launch::own_account()) return std::nullopt;
  launch::View view;
  view.hidden = sandboxes.hidden;
  return view;
}

fs::path cache_of(const Host& host, const std::string& user) {
  const std::string name = "user-" + user;  // a name may be "."
  if (const char* shared = shared_cache()) {
    const fs::path folder = fs::path(shared) / "users" / name;
    make_folder(folder);
    fs::permissions(folder, fs::perms::owner_all);
    return folder;
  }
  const fs::path data = fs::absolute(host.data);
  folder_below(data, "caches/" + name);
  return data / "caches" / name;
}

launch::View view_of(Host& host, const Sandboxes& sandboxes, const RunPlaces& own, const catalog::QueuedJob& job) {
  launch::View view;
  view.hidden = sandboxes.hidden;
  view.hidden.push_back(fs::absolute(host.data));
  if (const char* shared = shared_cache()) view.hidden.emplace_back(shared);
  view.programs = sandboxes.programs;
  view.readable = {own.job.string()};
  view.writable = {own.outputs.string(), cache_of(host, job.user).string()};
  std::vector<std::string> named;
  try {
    job::Job settings = job::parse_job(job.job, "the job", {});
    for (const std::string* file : job::files_of(settings))
      if (file->starts_with('/')) named.push_back(job::split_choice(*file).run);
  } catch (const Error&) {  // the training says what is wrong with it
  }
  Inputs inputs(host, sandboxes, job.user, view);
  for (const std::string& file : named) inputs.add(file);
  const launch::Places places = launch::places_in(view);
  for (const std::string& file : named) {
    if (file.find_first_of("*?[") != std::string::npos) continue;
    if (const std::string folder = places.hidden_with(file); !folder.empty())
      throw user_error(
          fmt::format("[queue] {}: no job is shown what lies there (in {}, where the service or its account keep their "
                      "own); put it "
                      "elsewhere, outside of folders whose name begins with a dot",
                      file, folder));
  }
  return view;
}

}  // namespace linac::execution
