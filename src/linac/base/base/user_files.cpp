#include "linac/base/base/user_files.h"

#include <cstdlib>

namespace linac {

std::optional<std::filesystem::path> user_folder(const char* variable, const char* below_home) {
  const auto folder = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  if (const auto named = folder(variable); !named.empty()) return named / "linac";
  if (const auto home = folder("HOME"); !home.empty()) return home / below_home / "linac";
  return std::nullopt;
}

}  // namespace linac
