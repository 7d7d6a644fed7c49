#pragma once
// What requests for files over http(s) have in common: how often they are tried, and errors. Thread-safe functions.

#include <string>

#include "linac/net/http_client.h"

namespace linac::storage {

inline constexpr int kHttpAttempts = 4;

/// Redirects are followed.
net::HttpSettings http_settings();

/// Warns, and waits a time that doubles with each attempt, the first being 1.
void wait_for_attempt(const std::string& url, const net::HttpAnswer& answer, int failed_attempts);

/// Data error for answers 4xx, environment error for everything else.
[[noreturn]] void fail_request(const std::string& url, const net::HttpAnswer& answer);
/// Environment error: the cache cannot be written.
[[noreturn]] void fail_to_write(const std::string& url);

}  // namespace linac::storage
