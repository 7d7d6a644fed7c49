#pragma once
// What a user has set for the tools of a store: environment variables, and files of sections with lines "name = value".
// Thread-safe functions.

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>

namespace linac::storage {

/// The value of an environment variable; empty where it is not set.
using Environment = std::function<std::string(const char* name)>;
std::string from_environment(const char* name);

/// The first that is not empty.
std::string first_of(std::initializer_list<std::string> texts);

/// As WLCG's bearer token discovery finds it: BEARER_TOKEN, the file BEARER_TOKEN_FILE, bt_uUID in XDG_RUNTIME_DIR,
/// then in /tmp. Empty if there is none; a file of somebody else is none.
std::string bearer_token();

/// Names are in small letters.
using IniSection = std::map<std::string, std::string>;
/// The lines "name = value" of [`title`]; nothing where file or section are missing.
std::optional<IniSection> read_ini_section(const std::filesystem::path& file, const std::string& title);

}  // namespace linac::storage
