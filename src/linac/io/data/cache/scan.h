#pragma once
// The look through a file before training: every record is read and checked once, and the result is remembered in the
// cache folder by path, size and time of change. Thread-safe; processes that scan the same file take turns.

#include <filesystem>
#include <string>
#include <vector>

#include "linac/io/data/formats/shower_file.h"
#include "linac/io/storage/storage.h"

namespace linac::data {

/// What a file holds. Ranges are of the kept events, all 0 without any.
struct FileReport {
  std::string url;
  std::string format;  // "hdf5" or "tfrecord"
  int64_t events = 0, kept = 0;
  EventShape shape;
  std::string fingerprint;  // XXH3 of the content, hexadecimal
  double energy_gev_min = 0, energy_gev_max = 0;
  double angle_min = 0, angle_max = 0;  // rad
  int64_t bytes = 0;
};

struct ScannedFile {
  FileReport report;
  storage::Fingerprint state;  // of the moment of the scan, without content
  std::vector<int64_t> kept;   // events with a sum above min_sum, rising
  double sum_max = 0;          // largest scaled sum of an event
  FileIndex index;
};

/// Reads the whole file in blocks of bounded memory. Data error naming file and event for the first value that cannot
/// be: NaN, infinite or negative cells and energies, NaN angles, samples whose ecal does not fit their cells.
ScannedFile scan_file(const std::filesystem::path& path, const std::string& url, const Fields& fields,
                      const Preprocessing& preprocessing);

/// The same, from the cache when the file has been scanned before with the same fields and preprocessing. A damaged
/// cache entry is made again; a cache that cannot be written costs only time.
ScannedFile scan_file_cached(const std::filesystem::path& path, const std::string& url, const Fields& fields,
                             const Preprocessing& preprocessing);

/// Whether `entry`, a file of the cache, has what its checksum says.
bool is_sound_scan(const std::filesystem::path& entry);
/// The file that was scanned; empty for an entry that is damaged.
std::string original_of_scan(const std::filesystem::path& entry);

}  // namespace linac::data
