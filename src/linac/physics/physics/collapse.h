#pragma once
// Signs that a generator makes one shower, or none, whatever it is asked for. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/physics/sample.h"

namespace linac::physics {

/// Sentences such as "9 of 10 showers are empty"; none for a healthy sample. The reference tells how much alike showers
/// of one bin of energy and angle are by nature.
std::vector<std::string> signs_of_collapse(const Sample& reference, const Sample& sample);

}  // namespace linac::physics
