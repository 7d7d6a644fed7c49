#pragma once
// Event files of any format that linac reads, written anew in one of three (written_format.h): some columns, some
// events, lists sorted and cut, columns computed, so many events a file, the parts of a split apart. Columns that
// nothing changes keep type and values. Files are written side by side, each in bounded memory, and appear whole under
// their names. A note beside them (note.h) says which of them are done, so that the same call goes on. Thread-safe; one
// process at a time writes into a folder of this host.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "linac/base/columns/table_stats.h"
#include "linac/io/data/rewrite/written_format.h"
#include "linac/io/data/transform/transform.h"

namespace linac::data {

struct RewriteOptions {
  std::vector<std::string> columns;  // that are written, in this order; empty: all, and the computed ones
  std::vector<std::string> without;  // these not, where no columns are named
  std::vector<std::string> lists;    // of TFRecord: lists, though the first record has one value
  std::vector<std::string> float32;  // columns of float64 that are rounded
  WrittenFormat format = WrittenFormat::kParquet;
  Transform transform;
  std::vector<Part> parts;      // of transform.split, which are written; none: all events that pass
  bool part_folders = false;    // a folder for each part, or for each fold that the split deals
  int64_t shards = 0;           // of all events read; 0: as below
  int64_t events_per_file = 0;  // read for each file at most; 0: a file for each input, or one where a file is named
  int jobs = 4;                 // files at a time
  bool overwrite = false;
  std::string where = "convert";  // what messages begin with
  /// Of the inputs, bytes that are done. Called from several threads.
  std::function<void(int64_t done, int64_t all)> progress = {};
  /// Looked at between blocks of events.
  std::function<bool()> stop = {};
};

struct RewrittenFile {
  std::string name;
  int64_t events = -1;  // -1: it was not done
  int64_t bytes = 0;
  bool kept = false;  // it was there before
};

struct RewriteReport {
  std::vector<RewrittenFile> files;  // in their order
  bool stopped = false;
  std::vector<columns::LeftOutColumn> left_out = {};  // of the inputs' columns: what cannot be read
};

/// `inputs`: of expand()'s results. `destination`: a file that ends as those of the format do, or a folder, by path or
/// URL. User error for what was made there by other settings or of other inputs, and for files that are there, unless
/// overwrite; data errors as of the files, for inputs whose columns differ, and for what has no form in the format.
/// After an error finished files stay.
RewriteReport rewrite_tables(const std::vector<std::string>& inputs, const std::string& destination,
                             const RewriteOptions& options);

}  // namespace linac::data
