#pragma once
// The shared object that binding.h describes.

#include "linac/io/storage/xrootd/binding.h"

namespace linac::storage::xrootd {

/// Loads it beside the program, or from ../lib as it is installed, once. Environment error if it is not there or cannot
/// be loaded. Thread-safe.
const Binding& binding();

}  // namespace linac::storage::xrootd
