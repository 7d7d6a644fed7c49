#pragma once
// Small objects that several write, each on condition that nobody else has (If-Match, If-None-Match). One thread a
// session.

#include <optional>
#include <string>
#include <string_view>

#include "linac/io/storage/s3/request.h"
#include "linac/io/storage/store.h"

namespace linac::storage::s3 {

/// As of Store; `version` is the ETag.
std::optional<SmallFile> read_small(Session& session, const Address& address);
std::optional<std::string> replace(Session& session, const Address& address, std::string_view content,
                                   const std::string& version);

/// Seconds from one date of a header to another, "Wed, 21 Oct 2015 07:28:00 GMT"; nothing if one is none.
std::optional<double> seconds_between(const std::string& from, const std::string& to);

}  // namespace linac::storage::s3
