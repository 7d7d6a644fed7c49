#pragma once
// A set of event files as one table of named columns, in the order of the files: what any supervised model trains on.
// HDF5 (arrays [events, ...]), Parquet (numbers and lists of numbers, also lists of lists) and TFRecord
// (tf.train.Example) say the same thing here. Lists of rows (shapes of two axes) may have another length in every
// event: they are padded with rows of zeros, or of the value that the request names, or cut, to the length that is
// asked for. Such rows at the end of the stored list are padding too: this is how formats without lists of several
// lengths store them. All other columns have their size in every event. Numbers and lists of features may be joined to
// one list. Immutable after open(); every member function is thread-safe. Each file is unpacked once into the cache
// folder (packed_table.h) and read from there, so a set may be larger than the memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/column_facts.h"
#include "linac/io/data/transform/transform.h"

namespace linac::data {

/// One of several columns that are joined to a list.
struct JoinedColumn {
  std::string column;
  int64_t size = 0;  // values an event; 0: as many as the files have
};

/// What one text an event means where the files have texts in a column: a class of a model's output. It becomes the
/// class's number where a number is wanted, else the class's place in a list of as many numbers is 1 and others are 0.
struct TextClasses {
  int64_t count = 0;                    // that the output tells apart
  std::string output = {};              // its name, for messages
  std::vector<std::string> names = {};  // in the output's order; empty: the texts of the files, sorted
  bool always = false;                  // numbers are refused
};

/// A column as it is wanted in memory.
struct ColumnRequest {
  std::string column;          // its name in the files; empty if it is joined from several
  std::vector<int64_t> shape;  // of one event, without the axis of the events: {801, 19}; {} for one number
  /// One value for each position of the last axis (one for a number), or empty: a stored x becomes
  /// (x - offset) * factor. What pads stays as it is.
  std::vector<float> offset, factor;
  /// In place of `column`: numbers and lists that make one list, in this order. Each has the same number of values in
  /// every event; together they are as many as the shape, which has one axis at most, says. With a shape of two axes
  /// they are lists of one length in an event, and value i of each makes row i: its last axis is as many as they are.
  std::vector<JoinedColumn> joined = {};
  /// Set: the files may hold texts there, all or none. Of one column, with one axis at most and without scaling.
  std::optional<TextClasses> texts = {};
  /// What pads lists of rows. Of another value than 0 also rows inside of a list are left as they are, without scaling.
  float padding = 0;

  bool is_zipped() const { return !joined.empty() && shape.size() == 2; }
  std::string describe() const;  // "pt", "pt, eta, phi"
  int64_t event_values() const;  // of an event, with its padding
};

/// A file of the set, for reports and for comparing what two workers have read.
struct TableFile {
  std::string url;
  std::string format;  // "hdf5", "parquet", "tfrecord"
  int64_t events = 0;  // that are in the set
  int64_t first = 0;   // the file's number of the first of them
  int64_t bytes = 0;
  std::string fingerprint;  // XXH3 of the content, hexadecimal
  int64_t stored = 0;       // events that it holds, and those of them that pass the filter
  int64_t passed = 0;
  std::string made = {};  // XXH3 of what a transform has made of it, hexadecimal; empty without one
};

/// "event 12", of those selected where a transform selects: for messages.
std::string describe_event(const TableFile& file, int64_t event);
/// "a.parquet: event 12": of a set of these files, by its number in the set.
std::string describe_event(const std::vector<TableFile>& files, int64_t event);

/// One buffer a column, (events, shape...) in the order of the requests.
struct TableBatch {
  int64_t events = 0;
  std::vector<std::vector<float>> columns;
};

class EventTable {
 public:
  using Batch = TableBatch;

  /// Opens every file that the paths, globs and URLs name. Data error naming file and column: for one that is missing
  /// (with those it has), holds no numbers, or does not fit the shape; for a null or a value that is not finite, with
  /// its event. User error when the files hold no event, or a request cannot be. Environment error when the cache
  /// folder cannot take the files' values. Of texts: text_classes.h; of a transform: transform/table.h, and a user
  /// error where it selects no event.
  static std::shared_ptr<const EventTable> open(const std::vector<std::string>& urls,
                                                const std::vector<ColumnRequest>& columns,
                                                const Transform& transform = {});
  /// One file of a larger set, of which it may have no event.
  static std::shared_ptr<const EventTable> open_one(const std::string& url, const std::vector<ColumnRequest>& columns,
                                                    const Transform& transform);
  ~EventTable();

  /// The events [first, first + events) of this set, at least one, as a set of their own.
  std::shared_ptr<const EventTable> part(int64_t first, int64_t events) const;

  int64_t size() const { return size_; }  // events
  /// Those with events of the set.
  const std::vector<TableFile>& files() const { return files_; }
  /// As they were asked for; `texts` with the classes where the files hold texts, and without where they do not.
  const std::vector<ColumnRequest>& columns() const;
  /// Events whose list in column i was longer than its shape and is cut.
  int64_t events_cut(size_t i) const;
  /// The most rows that an event has in column i, without those that pad; of a list of rows.
  int64_t longest(size_t i) const;
  /// The names of the classes of column i, whose texts the files hold; empty where they hold numbers.
  const std::vector<std::string>& classes(size_t i) const;
  /// How many events of the set each of them has.
  std::vector<int64_t> events_of_classes(size_t i) const;
  /// Of a part: data error naming file, event and text for a class of column i that no event before the part has.
  void need_known_classes(size_t i) const;
  /// Of column i's values as they are stored; not of texts.
  ColumnFacts facts(size_t i) const;
  /// Data error naming file, event and value where column i holds what is not in the range. `wanted_by`: who wants it
  /// so. It reads events only to name the first that does not fit.
  void need(size_t i, const ValueRange& range, const std::string& wanted_by) const;

  /// events[0], events[1], ... (each in [0, size())) into `out`, in that order; an event may come twice. The memory of
  /// `out` is used again. Data error when a file has changed since open().
  void read(std::span<const int64_t> events, TableBatch& out) const;
  /// A batch of so many events that others fill.
  void prepare(int64_t events, TableBatch& out) const { out.events = events; }
  /// As read(), into the slots of such a batch.
  void read_into(std::span<const int64_t> events, std::span<const size_t> slots, TableBatch& out) const;
  /// PackedTable::let_pages_go() of all files.
  void let_pages_go() const;
  /// Column i of them alone.
  void read_column(size_t i, std::span<const int64_t> events, std::vector<float>& out) const;

 private:
  struct Parts;
  enum class Empty { kRefused, kFine };
  static std::shared_ptr<const EventTable> opened(const std::vector<std::string>& files,
                                                  const std::vector<ColumnRequest>& columns, const Transform& transform,
                                                  Empty empty);
  EventTable(std::shared_ptr<const Parts> parts, int64_t first, int64_t events);

  std::shared_ptr<const Parts> parts_;  // of the whole set, of which this may be a part
  int64_t first_, size_;
  std::vector<TableFile> files_;
};

/// Logs a warning for each column of which events_cut() counts any.
void warn_of_cuts(const EventTable& table);

}  // namespace linac::data
