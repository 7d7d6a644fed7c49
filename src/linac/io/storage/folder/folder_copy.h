#pragma once
// A folder of a store as one of this host: to go on with it, or to read it. Safe from any thread and process.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "linac/io/storage/folder/manifest.h"

namespace linac::storage {

/// Makes `into` what the manifest at `url` names: what is there with the same content stays, what it does not name
/// goes. Each file is compared with its checksum. A snapshot that is damaged is left out with a warning where another
/// one is whole; anything else that is damaged is a data error. A manifest that is replaced meanwhile is read anew.
/// Returns the one that was fetched.
ReadManifest fetch_folder(const std::string& url, ReadManifest read, const std::filesystem::path& into,
                          const std::function<bool(std::string_view name)>& is_snapshot);

/// The same of a folder that has more than the manifest names, which stays: a damaged snapshot is a data error, too.
ReadManifest fetch_files(const std::string& url, ReadManifest read, const std::filesystem::path& into);

/// A folder at a store as a copy in the cache, where it stays while this process lives: for reading. Nothing if there
/// is none at this URL.
std::optional<std::filesystem::path> cached_folder(const std::string& url);
/// The same of one file below a folder, which may lie in another object than its name says.
std::optional<std::filesystem::path> cached_file(const std::string& url);

}  // namespace linac::storage
