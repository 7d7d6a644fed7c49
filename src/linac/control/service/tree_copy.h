#pragma once
// Folders of runs copied while runs may still write there: what they do meanwhile neither leads the copy elsewhere nor
// stops it. Private to the module.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include <sys/types.h>

namespace linac::service {

/// Of a file by whatever name: its device and its number there.
using FileNumber = std::pair<dev_t, ino_t>;
/// Of all files below a folder; none if it is not there.
std::set<FileNumber> numbers_below(const std::filesystem::path& folder);

struct TreeCopy {
  std::set<FileNumber> kept_back = {};                        // files that are not copied by any name
  std::function<bool(const std::string& name)> leaves_out{};  // entries that are not copied
  std::function<void(int64_t bytes)> copied{};                // is told each file
};

/// Copies the folder from/part to to/part, which is not there yet: with modes, owners (where this process may give
/// files away), times and holes, links as links. Not copied: what vanishes meanwhile; a file with several names whose
/// owner is not that of its folder; what this account has made unreadable itself (each with a warning). Environment
/// error for what cannot be read or written else. Nothing happens if from/part is not there.
void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& part,
               const TreeCopy& copy);

}  // namespace linac::service
