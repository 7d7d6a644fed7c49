#pragma once
// Files of showers as one set in a windowed order (windowed_set.h): each is fetched or unpacked into the cache, and
// checked, when its window comes. Thread-safe functions.

#include <memory>
#include <string>
#include <vector>

#include "linac/io/data/dataset.h"
#include "linac/io/data/order/windowed_set.h"

namespace linac::data {

using WindowedShowers = WindowedSet<Dataset>;

/// Opens the first file of which an event is kept. Errors as of Dataset::open(), here or when a file comes: a data
/// error too for one whose showers are of another shape than the first one's.
std::shared_ptr<WindowedShowers> windowed_showers(const std::vector<std::string>& urls, const Fields& fields,
                                                  const Preprocessing& preprocessing, int window);

}  // namespace linac::data
