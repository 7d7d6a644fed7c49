#pragma once
// The stores of the table in store.cpp. Each lives as long as the program.

#include "linac/storage/store.h"

namespace linac::storage {

/// Plain paths and file:// URLs. Patterns are shell globs; `~` is the home folder.
const Store& file_store();

/// http(s)://. Read only, without listings: a pattern is an address like any other. Copies are kept in the cache
/// (http.h).
const Store& http_store();

}  // namespace linac::storage
