#pragma once
// Event files as one set in a windowed order (windowed_set.h). Thread-safe functions.

#include <memory>
#include <string>
#include <vector>

#include "linac/io/data/event_table.h"
#include "linac/io/data/order/windowed_set.h"

namespace linac::data {

using WindowedTable = WindowedSet<EventTable>;

/// Whether all events are counted before the first step.
enum class Counts { kAll, kNone };

/// Opens the first file that has an event. Errors as of EventTable::open(); user error for classes that only all files
/// would name, and under Counts::kAll where a format or the transform hides how many events a file gives.
std::shared_ptr<WindowedTable> windowed_table(const std::vector<std::string>& urls,
                                              const std::vector<ColumnRequest>& columns, const Transform& transform,
                                              int window, Counts counts);

/// Files whose part of a split tests, as not all can be read for a test: as many as a window has, by the seed alone.
std::vector<std::string> drawn_files(const WindowedTable& table, uint64_t seed, int window);

}  // namespace linac::data
