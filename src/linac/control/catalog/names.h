#pragma once
// Names that the catalog makes up. Thread-safe.

#include <string>

namespace linac::catalog {

/// Like "calm-shower-417".
std::string random_run_name();

}  // namespace linac::catalog
