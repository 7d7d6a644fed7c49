#pragma once
// Files of this host become a data set in Rucio: sent to a storage element, and then made known in one call, so that
// Rucio has the whole data set or nothing of it.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "linac/io/storage/rucio/did.h"

namespace linac::storage::rucio {

struct PublishedFile {
  std::filesystem::path path;
  std::string name;  // in Rucio, in the data set's scope
  int64_t bytes = 0;
  std::string url{};  // of the replica
};

/// A name in Rucio with the letters, digits and signs that it takes: of "models/a b.keras" "models.a_b.keras".
std::string name_of(const std::string& path);

/// `rse`: the name of the storage element, which must have a protocol that is written here (root, davs, https). Also
/// asks Rucio to keep a copy there (a rule of the account). User error if the data set, one of its files or a file at
/// their place is there; data errors of what Rucio refuses. Whatever fails, what was sent goes, and Rucio knows nothing
/// of it. `done` is called with each file that has been sent.
std::vector<PublishedFile> publish(const Did& data_set, std::vector<PublishedFile> files, const std::string& rse,
                                   const std::function<void(const PublishedFile&)>& done = {});

}  // namespace linac::storage::rucio
