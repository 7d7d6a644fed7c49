#pragma once
// Rewrites shower files: raw HDF5 to TFRecord samples and back, or within a format to merge or reshard.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "linac/io/data/showers.h"

namespace linac::data {

struct ConvertOptions {
  Fields fields;                // of HDF5 inputs
  Preprocessing preprocessing;  // from raw showers to samples and back
  int shards = 1;
  bool overwrite = false;
  /// Called after each event; throw from it to stop.
  std::function<void(int64_t done, int64_t total)> progress;
};

struct ConvertReport {
  std::vector<std::filesystem::path> files;
  int64_t events_read = 0, events_written = 0;
};

/// Reads the inputs (paths, globs, URLs, in their order) and writes `output`, whose ending says the format: .h5 or
/// .hdf5 holds raw showers, .tfrecord or .tfrecords samples. With several shards the events are dealt in order to
/// NAME-00000-of-0000N.ENDING. Events that training drops (min_sum) are dropped when samples are made; from raw to raw
/// every event stays. Each file appears whole or not at all. The inputs are checked as by Dataset::open; user error for
/// an unknown ending, a shard without events, or an output that exists (unless overwrite) or is an input.
ConvertReport convert(const std::vector<std::string>& inputs, const std::filesystem::path& output,
                      const ConvertOptions& options);

}  // namespace linac::data
