#pragma once
// What lies where in the folder `--data` of a service.

#include <filesystem>
#include <string>

namespace linac::service {

inline constexpr const char* kArtifactsFolder = "artifacts";  // one folder an experiment, in it one a run
inline constexpr const char* kUploadsFolder = "uploads";      // bodies as they arrive

/// The books' URL: `database`, or SQLite's in `data` if that is empty.
inline std::string books_url(const std::filesystem::path& data, const std::string& database) {
  return database.empty() ? "sqlite://" + (std::filesystem::absolute(data) / "books.db").string() : database;
}

}  // namespace linac::service
