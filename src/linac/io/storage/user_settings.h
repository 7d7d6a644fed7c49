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

/// Of a variable that is set to 1, true or yes.
bool is_yes(std::string text);

/// The first that is not empty.
std::string first_of(std::initializer_list<std::string> texts);

/// The first line of a small file of this user; empty for what is no such file, a link or somebody else's, and for a
/// line that no header of a request could have.
std::string token_in(const std::filesystem::path& file);
/// As WLCG's bearer token discovery finds it: BEARER_TOKEN, the file BEARER_TOKEN_FILE, bt_uUID in XDG_RUNTIME_DIR,
/// then in /tmp. Empty if there is none; a file of somebody else is none.
std::string bearer_token();

/// Names are in small letters.
using IniSection = std::map<std::string, std::string>;
/// Empty where there is none of the name.
std::string value_in(const IniSection& section, const std::string& name);
/// The lines "name = value" of [`title`]; nothing where file or section are missing.
std::optional<IniSection> read_ini_section(const std::filesystem::path& file, const std::string& title);

}  // namespace linac::storage
