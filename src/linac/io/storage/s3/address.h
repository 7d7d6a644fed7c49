#pragma once
// Addresses of objects, s3://BUCKET/KEY, and the requests' URLs that they become. Thread-safe functions.

#include <map>
#include <string>
#include <string_view>

#include "linac/io/storage/s3/access.h"

namespace linac::storage::s3 {

/// The key is what stands behind the bucket, byte by byte, as other tools have it: '%' is a percent sign.
struct Address {
  std::string bucket, key;
  std::string url() const { return "s3://" + bucket + "/" + key; }
};

/// User error if that is none; one with a user's name and password is refused, and not repeated.
Address parse_address(const std::string& url);

using Query = std::map<std::string, std::string>;
/// http(s)://..., the query sorted as the signature wants it. An empty key names the bucket.
std::string request_url(const Access& access, const Address& address, const Query& query);

}  // namespace linac::storage::s3
