#pragma once
// A folder at a store, as its manifest says it: which files it has, in which objects they lie, with sizes and
// checksums. The manifest is written last, so whoever reads it finds all of that there. Objects are never written over
// while a manifest names them: a file that changes goes into another object, and the former one is removed later.
//
//   URL/linac-folder.json   the manifest
//   URL/linac-claim.json    who writes (claim.h)
//   URL/NAME                a file that does not change any more
//   URL/versions/...        one that does
//
// Thread-safe functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::storage {

inline constexpr const char* kManifestName = "linac-folder.json";
inline constexpr const char* kClaimName = "linac-claim.json";
inline constexpr const char* kVersionsFolder = "versions";

struct ManifestFile {
  std::string name;    // below the folder, with slashes
  std::string object;  // below the URL
  int64_t size = 0;
  std::string hash;  // ContentHash
  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

struct Manifest {
  int64_t sequence = 0;              // of the writing
  std::string copy;                  // which local folder it was written from (folder_mirror.h)
  bool ended = false;                // nobody goes on with it for now; all files have their own names
  std::vector<ManifestFile> files;   // by name
  std::vector<std::string> leaving;  // objects of former manifests that are still there
  const ManifestFile* find(std::string_view name) const;
};

std::string to_text(const Manifest& manifest);
/// Data error for anything that to_text() does not write: what a name says must lie within the folder. User error if a
/// newer linac wrote it. `where`: for errors.
Manifest parse_manifest(std::string_view text, const std::string& where);

struct ReadManifest {
  Manifest manifest;
  std::string version;  // see Store::replace()
};
/// Nothing if there is no folder at the URL.
std::optional<ReadManifest> read_manifest(const std::string& url);

/// Whether it names something below a folder: no "..", no empty parts, UTF-8 without what cannot be
/// printed.
bool is_inner_name(std::string_view name);
/// URL/NAME.
std::string inner_url(const std::string& url, std::string_view name);

}  // namespace linac::storage
