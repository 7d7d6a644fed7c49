#include "linac/base/job/job_paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/glob.h"
#include "linac/base/base/log.h"
#include "linac/base/job/hidden_paths.h"
#include "linac/base/job/job.h"
#include "linac/base/job/run_choice.h"

namespace linac::job {
namespace {

namespace fs = std::filesystem;

thread_local const HiddenPaths* innermost = nullptr;

// The keys of those fields that are among `files`.
struct FileKeys {
  const std::vector<std::string*>& files;
  std::vector<std::string> keys;

  template <class T>
  void operator()(const char* name, T& value, const char*) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (std::find(files.begin(), files.end(), &value) != files.end()) keys.emplace_back(name);
    }
  }
};

std::vector<std::string> model_file_keys(const std::string& kind) {
  std::vector<std::string> keys;
  each_model_kind([&](auto settings) {
    if (kind != settings.kKind) return;
    const std::vector<std::string*> files = settings.files();
    FileKeys found{files, {}};
    settings.fields(found);
    keys = found.keys;
  });
  return keys;
}

// A file, a folder, a state of a run, or a pattern that matches something.
bool leads_somewhere(const fs::path& path) {
  std::error_code error;
  for (const fs::path& one : {path, fs::path(split_choice(path.string()).run)})
    if (fs::exists(one, error)) return !HiddenPaths::hide(one);
  if (path.native().find_first_of("*?[") == std::string::npos) return false;
  const std::vector<std::string> found = glob_paths(path);
  return !found.empty() && std::none_of(found.begin(), found.end(), HiddenPaths::hide);
}

std::string shown(const fs::path& folder) {
  std::error_code error;
  const fs::path path = fs::absolute(folder.empty() ? "." : folder, error).lexically_normal();
  return path.has_filename() ? path.string() : path.parent_path().string();
}

struct Placer {
  const PathPlaces& places;
  const std::string& where;
  std::map<std::string, MissingPath> missing{};

  void place(YAML::Node node, const std::string& key, ErrorCode code) {
    if (node.IsSequence()) {
      for (size_t i = 0; i < node.size(); ++i) place(node[i], key, code);
      return;
    }
    if (!node.IsScalar() || !is_relative_path(node.Scalar())) return;
    const std::string path = node.Scalar();
    const fs::path beside = (places.job_folder / path).lexically_normal();
    if (leads_somewhere(beside)) {
      node = beside.string();
    } else if (leads_somewhere(places.working_folder / path)) {
      log::debug(
          fmt::format("{}: {} = {} is not beside the job file; taken from the working folder", where, key, path));
    } else {
      missing.emplace(
          path,
          MissingPath(code, fmt::format("[job] {}: {} = {}: no such file, neither beside the job file, in {}, nor in "
                                        "the working folder, {}; check the path",
                                        where, key, path, shown(places.job_folder), shown(places.working_folder))));
    }
  }
};

}  // namespace

HiddenPaths::HiddenPaths(Hides hides) : hides_(std::move(hides)), before_(innermost) {
  innermost = this;
}

HiddenPaths::~HiddenPaths() {
  innermost = before_;
}

bool HiddenPaths::hide(const fs::path& path) {
  return innermost != nullptr && innermost->hides_(path);
}

std::vector<std::string*> files_of(Job& job) {
  std::vector<std::string*> files = job.model.files();
  files.push_back(&job.data.scaling);
  for (auto* list : {&job.data.train, &job.data.test})
    for (std::string& file : *list) files.push_back(&file);
  return files;
}

std::map<std::string, MissingPath> place_paths(const YAML::Node& root, const PathPlaces& places,
                                               const std::string& where) {
  if (shown(places.job_folder) == shown(places.working_folder)) return {};  // whoever opens a file says what is missing
  Placer placer{places, where};
  if (const YAML::Node model = root["model"]; model && model.IsMap()) {
    const std::string kind = model["kind"] ? model["kind"].as<std::string>("") : Model{}.kind();
    for (const std::string& key : model_file_keys(kind))
      if (model[key]) placer.place(model[key], "model." + key, ErrorCode::kUser);
  }
  if (const YAML::Node data = root["data"]; data && data.IsMap()) {
    for (const char* const key : {"train", "test", "scaling"})
      if (data[key]) placer.place(data[key], fmt::format("data.{}", key), ErrorCode::kData);
  }
  return placer.missing;
}

std::string path_from(const fs::path& folder, const std::string& path) {
  if (folder.empty() || !is_relative_path(path) || shown(folder) == shown({})) return path;
  const fs::path there = (folder / path).lexically_normal();
  return leads_somewhere(there) ? there.string() : path;
}

void make_paths_absolute(Job& job) {
  for (std::string* path : files_of(job))
    if (is_relative_path(*path)) *path = std::filesystem::absolute(*path).lexically_normal().string();
}

bool is_relative_path(const std::string& path) {
  return !path.empty() && path.find("://") == std::string::npos && path[0] != '/' && path[0] != '~';
}

bool may_be_one_file(const std::string& one, const std::string& other) {
  if (one == other) return true;
  const auto ends_in = [](const std::string& path, fs::path end) {
    if (!is_relative_path(end.string())) return false;
    end = end.lexically_normal();
    std::string tail;
    for (const fs::path& part : end)
      if (part != ".." && part != ".") tail += "/" + part.string();
    return !tail.empty() && ("/" + path).ends_with(tail);
  };
  return ends_in(one, other) || ends_in(other, one);
}

}  // namespace linac::job
