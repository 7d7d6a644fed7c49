#pragma once
// What lies where in the folder `--data` of a service.

#include <filesystem>
#include <string>

namespace linac::service {

inline constexpr const char* kArtifactsFolder = "artifacts";  // one folder an experiment, in it one a run
inline constexpr const char* kUploadsFolder = "uploads";      // bodies as they arrive
inline constexpr const char* kSitesFolder = "sites";      // what it has at sites, with their runs' keys, in no backup
inline constexpr const char* kPrivateFolder = "private";  // keys, in no backup
/// The catalog as SQLite, here and in a backup. The name is from the first version, in which the catalog was called the
/// books; it stays, so that the folders and backups that there are can be read.
inline constexpr const char* kDatabaseFile = "books.db";

/// The catalog's URL: `database`, or SQLite's in `data` if that is empty.
inline std::string catalog_url(const std::filesystem::path& data, const std::string& database) {
  return database.empty() ? "sqlite://" + (std::filesystem::absolute(data) / kDatabaseFile).string() : database;
}

}  // namespace linac::service
