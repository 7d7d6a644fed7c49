#pragma once
// What requests for files over http(s) have in common: how often they are tried, and errors. Thread-safe functions.

#include <string>
#include <vector>

#include "linac/io/net/http_client.h"

namespace linac::storage {

inline constexpr int kHttpAttempts = 4;

/// "https://host/a%20b" of "davs://host/a b", "http://..." of dav://; others are as they are.
std::string request_url(const std::string& url);
/// Of dav(s):// alone: "Authorization: Bearer ..." with the token of the user, if there is one, read anew each time as
/// WLCG's bearer token discovery has it. Over dav:// this machine alone gets it. libcurl sends it to no other host that
/// a redirect names.
std::vector<std::string> token_headers(const std::string& url);

/// Redirects are followed. For davs:// with the user's X.509 proxy or certificate, and the grid's authorities.
net::HttpSettings http_settings(const std::string& url);

/// Warns, and waits a time that doubles with each attempt, the first being 1, or as long as the server asks for.
void wait_for_attempt(const std::string& url, const net::HttpAnswer& answer, int failed_attempts);

/// Data error for answers 4xx, environment error for everything else.
[[noreturn]] void fail_request(const std::string& url, const net::HttpAnswer& answer);
/// Environment error: the cache cannot be written.
[[noreturn]] void fail_to_write(const std::string& url);

}  // namespace linac::storage
