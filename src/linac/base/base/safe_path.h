#pragma once
// Files below a folder, named by strangers. A name with "..", an absolute one, an empty component, a backslash, a
// control character or a symbolic link on the way is refused: nothing outside of the folder is ever opened. The path of
// the folder itself, the root, has no link either: give the canonical one. Thread-safe.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/base/descriptor.h"

namespace linac {

/// `name` without a trailing slash, if it is harmless ("" and "." are the folder itself); kInvalid else.
std::string harmless_path(std::string_view name);

/// Opens root/name for reading, following no symbolic link below `root`. kNotFound if it is not there, kInvalid as
/// above.
Descriptor open_below(const std::filesystem::path& root, std::string_view name);

/// The folder root/name, opened; it and those on the way are made if they are not there. kInvalid if one is a file or a
/// link.
Descriptor folder_below(const std::filesystem::path& root, std::string_view name);

struct FolderEntry {
  std::string path;  // relative to the root
  bool folder = false;
  int64_t bytes = 0;
};
/// What lies in the folder root/name, by name; symbolic links and what is neither file nor folder are left out. None if
/// there is no such folder. At most `limit`.
std::vector<FolderEntry> entries_below(const std::filesystem::path& root, std::string_view name, size_t limit = 100000);

/// Moves `file` (on the same file system) to root/name, making folders on the way, over a former file; on the disk when
/// it returns.
void place_below(const std::filesystem::path& root, std::string_view name, const std::filesystem::path& file);
/// Removes a file or a whole folder; false if it was not there.
bool remove_below(const std::filesystem::path& root, std::string_view name);

/// Removes a file or a folder of this program's own, however deep, links in it and not what they lead to; nothing if it
/// is not there. Links on the way to it are followed. Environment error for what stays.
void remove_tree(const std::filesystem::path& path);

}  // namespace linac
