#pragma once
// The points of a run's metrics as they arrive, each of them once (curves.h reads them). A batch is appended as one
// block a key; small blocks are merged into larger ones as they pile up, so a curve of a million points is a few
// hundred rows and each point is written a few times at most.

#include <cstdint>
#include <span>
#include <string>

#include "linac/control/catalog/points.h"

namespace linac::catalog {

/// What becomes of a point that its curve has already (key, step, time and value): kOnce for senders that repeat a
/// request when they do not know whether it arrived, as MLflow's clients do. Looked for among the newest of the curve,
/// a hundred thousand points or so.
enum class Repeated { kCounts, kOnce };
/// Appends `points` to the run's curves, in this order. kNotFound for the run, kState if it is deleted, kInvalid for a
/// key that is empty or longer than kKeyMax bytes.
void append_points(Database& database, const std::string& run, std::span<const KeyedPoint> points,
                   Repeated repeated = Repeated::kCounts);
constexpr size_t kKeyMax = 250;

/// One sender's batches in order, each applied once however often it arrives: those up to what it has been acknowledged
/// are passed over. `sequence` counts from 1 without gaps (kState for a gap, naming what is expected). Returns the last
/// one applied.
int64_t append_batch(Database& database, const std::string& run, const std::string& sender, int64_t sequence,
                     std::span<const KeyedPoint> points);
/// 0: nothing yet.
int64_t acknowledged(Database& database, const std::string& run, const std::string& sender);

/// How far the catalog has the folder of a run, in the words of whoever reads it; "": nothing yet. kNotFound for the
/// run.
std::string folder_place(Database& database, const std::string& run);
void set_folder_place(Database& database, const std::string& run, const std::string& place);

}  // namespace linac::catalog
