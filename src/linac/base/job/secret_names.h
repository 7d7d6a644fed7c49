#pragma once
// Secrets that a job may ask for (Job::secrets): environment variables, or files that a variable names. Thread-safe
// functions.
//
// Any name is taken that programs read their keys from. Refused is what decides how a program runs: which libraries,
// scripts and settings it loads, where it looks for files, what linac and LibTorch do. A key is no place for that; with
// one of these names a slip, or who knows somebody's token, would change what runs in a job, and not what it may read.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linac::job {

inline constexpr size_t kSecretNameMax = 128;  // characters
inline constexpr size_t kSecretsMax = 64;      // of a job, and of a user

/// Why no secret can have this name, as the end of a sentence; "" if one can.
std::string why_no_secret_name(std::string_view name);
/// Whether programs take the variable of this name for the path of a file: X509_USER_PROXY, BEARER_TOKEN_FILE, ...
bool names_a_file(std::string_view name);

/// Those of `names` that are not in this process's environment.
std::vector<std::string> missing_in_environment(std::span<const std::string> names);
/// User error for the first that is missing, with the way out.
void need_in_environment(std::span<const std::string> names);

}  // namespace linac::job
