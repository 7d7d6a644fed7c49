#pragma once
// A file of another host, streamed into the cache.

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "linac/io/storage/cached_copy.h"
#include "linac/io/storage/source.h"

namespace linac::storage {

/// Returns the checksums of what came, for the copy's note. Fills the part of `copy` (of this user's cache folder) and
/// syncs it; `also` sees all bytes in order. Where the disk is full, other copies go. Errors of the source; environment
/// error if the cache cannot take it.
PieceSums stream_into(const CachedCopy& copy, const std::shared_ptr<const Source>& source,
                      const std::function<void(std::span<const std::byte>)>& also = {});

/// Store::local() of a store whose Source says the version: the file in the folder `scheme` of the cache, fetched if it
/// is not there in that version. `key` names the file for ever, `url` is what is opened. Where nobody answers, a former
/// copy serves, with a warning.
std::filesystem::path streamed_local(const std::string& scheme, const std::string& key, const std::string& url);

/// Store::local() by http: where the processes of a run share what they read (neighbours/range_share.h), as above in
/// ranges, if the server names versions and sends parts; else download() of http.h.
std::filesystem::path http_local(const std::string& url);

}  // namespace linac::storage
