#pragma once
// Files of environment variables, a line NAME=VALUE each, as TF-Spawner and docker take them. Thread-safe.

#include <filesystem>
#include <map>
#include <string>

namespace linac::sites {

/// Of a file that the user names: its text. User error if it is no regular file (nothing is waited for), has more than
/// `bytes_max`, or is no text; `what` says for what it is.
std::string read_users_text(const std::filesystem::path& file, const std::string& what, size_t bytes_max);

/// All behind the first '=' is the value, as it stands. Empty lines and those that begin with '#' are passed by. User
/// error "[spawn] FILE:LINE: ..." for any other line, which is not shown: it may be a secret.
std::map<std::string, std::string> parse_env_file(const std::string& text, const std::string& file);

}  // namespace linac::sites
