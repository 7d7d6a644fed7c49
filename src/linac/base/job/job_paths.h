#pragma once
// The files that a job names. A relative path of a job file is looked for beside that file first, then in the working
// folder; one of `--set` is relative to the working folder, as everywhere in a shell. Thread-safe functions.

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::job {

struct Job;

/// Where the relative paths of a job file are looked for, in this order.
struct PathPlaces {
  std::filesystem::path job_folder;
  std::filesystem::path working_folder;  // empty: that of this process
};

/// A path of a job file that leads nowhere: user error (models) or data error (data) naming both places.
class MissingPath : public Error {
 public:
  using Error::Error;
};

/// The settings of a job that name files.
std::vector<std::string*> files_of(Job& job);

/// In the tree of a job file, before anything is overridden: paths of files that are beside it get its folder in front;
/// those that are in the working folder stay as they are. Returns those that lead nowhere: an override may take
/// their place.
std::map<std::string, MissingPath> place_paths(const YAML::Node& root, const PathPlaces& places,
                                               const std::string& where);

/// A path of a run's job, which was started in `folder`: one that is relative and leads somewhere from there gets it in
/// front, unless it is the working folder of this process or empty.
std::string path_from(const std::filesystem::path& folder, const std::string& path);

/// Not empty, no address with a scheme, and neither below / nor below a home.
bool is_relative_path(const std::string& path);

/// Relative paths of the job are those of this process's working folder; afterwards they are absolute.
void make_paths_absolute(Job& job);

/// Whether two paths of a job, resolved in two folders, may be those of one file: they are equal, or one is relative
/// and the other ends in it.
bool may_be_one_file(const std::string& one, const std::string& other);

}  // namespace linac::job
