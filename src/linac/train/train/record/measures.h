#pragma once
// The measures of the record (base/job/measures.h), by the name that all of this module uses.

#include <nlohmann/json.hpp>

#include "linac/base/job/measures.h"

namespace linac::train {

using job::Measures;
using job::measures_from_json;
using job::to_json;
using job::value_of;

}  // namespace linac::train
