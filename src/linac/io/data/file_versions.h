#pragma once
// Which files a set has, and in which version, before any of them is read: what workers compare, and what tells later
// that a file is another one. A listing that names versions answers for all its files at once; others are looked at,
// many at a time. Thread-safe functions.

#include <cstdint>
#include <string>
#include <vector>

namespace linac::data {

struct FileVersion {
  std::string url;
  int64_t bytes = 0;
  std::string version;      // tells the file from another one under its name, on this host
  std::string fingerprint;  // the same on all hosts: of the version that its server names, or of size and both ends
};

/// Of all files that the paths, globs and URLs name, in their order. Errors of the stores; user error for a file of
/// another host of which its server names no version.
std::vector<FileVersion> versions_of(const std::vector<std::string>& urls);

/// FileVersion::version of the file as it is now; its server is asked.
std::string version_now(const std::string& url);

}  // namespace linac::data
