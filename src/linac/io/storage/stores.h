#pragma once
// The stores of the table in store.cpp. Each lives as long as the program.

#include "linac/io/storage/store.h"

namespace linac::storage {

/// Plain paths and file:// URLs. Patterns are shell globs; `~` is the home folder.
const Store& file_store();

/// http(s)://. Read only, without listings: a pattern is an address like any other. Copies are kept in the cache
/// (http.h).
const Store& http_store();

/// s3://BUCKET/KEY, on Amazon's servers or any other of that interface (s3/access.h). Patterns are those of a shell
/// within a bucket. Copies are kept in the cache, by server, address and ETag.
const Store& s3_store();

/// rucio://SCOPE:NAME, a file, data set or container of a Rucio server (rucio/access.h); read only. Its replicas are
/// read by their own schemes, the next one where one fails. A name with `*` stands for files. Copies are kept in the
/// cache, compared with Rucio's checksums.
const Store& rucio_store();

/// dav(s)://HOST/PATH: WebDAV over http(s), with the user's bearer token. Patterns are those of a shell; names are
/// written as they are. Copies are kept in the cache.
const Store& dav_store();

/// root://HOST[:PORT]//PATH (also xroot://, and roots:// over TLS), by XRootD's client where it is installed
/// (xrootd/library.h). Patterns are those of a shell. Copies are kept in the cache.
const Store& xrootd_store();

/// gs://BUCKET/KEY and az://CONTAINER/KEY, of programs that have what reads them (module clouds), which provides the
/// stores at the program's start. Elsewhere all of their functions are user errors.
const Store& gs_store();
const Store& az_store();
void provide_clouds(const Store& gs, const Store& az);

}  // namespace linac::storage
