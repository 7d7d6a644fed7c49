#pragma once
// Small sums that the parts of an image have in common.

#include <vector>

#include "linac/model/graph/split/part_link.h"

namespace linac::nn {

/// Collective: as many doubles of each part, in the order of the parts.
std::vector<std::vector<double>> doubles_of_parts(graph::PartLink& link, const std::vector<double>& mine);

}  // namespace linac::nn
