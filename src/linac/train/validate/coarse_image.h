#pragma once
// A shower's image in fewer cells, as the cells' classifier takes it. Pure, thread-safe.

#include <span>
#include <vector>

#include "linac/base/base/event_shape.h"

namespace linac::validate {

/// At most 17 cells across and 25 deep: neighbours are added up.
EventShape coarse_shape(const EventShape& shape);

/// Appends ln(1 + energy / 0.1 MeV) of the coarse cells, [x][y][z].
void append_coarse_image(std::span<const float> image_gev, const EventShape& shape, std::vector<float>& out);

}  // namespace linac::validate
