#pragma once
// The measures of the record (spec/measures.h), by the name that all of this module uses.

#include <nlohmann/json.hpp>

#include "linac/spec/measures.h"

namespace linac::train {

using spec::Measures;
using spec::measures_from_json;
using spec::to_json;
using spec::value_of;

}  // namespace linac::train
