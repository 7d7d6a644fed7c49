#pragma once
// A ROOT file of a Source. For the sources of this module.

#include <memory>

#include "linac/io/root/file.h"
#include "linac/io/storage/source.h"

namespace linac::data {

/// Baskets and pages are read as they are wanted. Data error for what is no ROOT file or is damaged.
std::shared_ptr<const root::File> open_root_file(const std::shared_ptr<const storage::Source>& source);

}  // namespace linac::data
