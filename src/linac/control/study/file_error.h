#pragma once
// The environment error of a study's file that cannot be used; errno says why. Thread-safe.

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "linac/base/base/error.h"

namespace linac::study {

inline Error cannot(const std::filesystem::path& path, const char* what) {
  return environment_error(fmt::format("[study] {}: cannot be {} ({}); check the disk and permissions", path.string(),
                                       what, std::strerror(errno)));
}

}  // namespace linac::study
