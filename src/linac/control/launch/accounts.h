#pragma once
// Accounts of this host, under which commands run. Thread-safe.

#include <string>

namespace linac::launch {

/// Why this process may not start commands under `account` (empty: none is declared); "" if it may.
std::string why_not_as(const std::string& account);
/// Whether it is root of this host, by whatever name.
bool is_root(const std::string& account);
/// The account of this process.
std::string own_account();

}  // namespace linac::launch
