#pragma once
// The stores of the table in store.cpp. Each lives as long as the program.

#include "linac/storage/store.h"

namespace linac::storage {

/// Plain paths and file:// URLs. Patterns are shell globs; `~` is the home folder.
const Store& file_store();

/// http(s)://. Read only, without listings: a pattern is an address like any other. Copies are kept in the cache
/// (http.h).
const Store& http_store();

/// s3://BUCKET/KEY, on Amazon's servers or any other of that interface (s3/access.h). Patterns are those of a shell
/// within a bucket. Copies are kept in the cache, by server, address and ETag.
const Store& s3_store();

}  // namespace linac::storage
