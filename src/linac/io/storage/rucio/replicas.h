#pragma once
// What Rucio knows of files: which a data set has, and where copies of each are.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/io/storage/rucio/did.h"
#include "linac/io/storage/rucio/session.h"

namespace linac::storage::rucio {

struct File {
  Did did;
  int64_t bytes = 0;
  std::string adler32{}, md5{};  // hexadecimal, small letters; one of them may be empty

  /// What tells this content from any other: the checksum. Never empty.
  std::string version() const;
};

struct Replica {
  std::string url;  // of a scheme that is read here
  std::string rse;  // the storage element
};

/// Of a data set or container, sorted by scope and name; a file is its own. A name with `*` stands for the files of the
/// scope that match. Data error if there are none.
std::vector<File> files_of(Session& session, const Did& did);

struct ReplicatedFile {
  File file;
  std::vector<Replica> replicas;  // the nearest by Rucio's opinion first, those on tape last
};
/// Of one file. Data error without a replica that can be read here, naming those there are.
ReplicatedFile replicas_of(Session& session, const Did& did);

}  // namespace linac::storage::rucio
