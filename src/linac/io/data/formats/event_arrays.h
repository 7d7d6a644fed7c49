#pragma once
// Named arrays of numbers in one file, each [events, ...]: what any model reads, of HDF5, and writes, as HDF5, Parquet
// or ROOT. Values are float32 in memory, any number type in the file. A reader may be used from several threads, a
// writer from one.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace linac::data {

/// Names of the data sets in the file's root. Data error when it cannot be opened.
std::vector<std::string> array_names(const std::filesystem::path& path);

/// The texts about an array, as EventArraysWriter writes them in each of its formats (of ROOT, about a branch); none if
/// the file says nothing of it. Data error when the file cannot be opened.
std::vector<std::string> array_texts(const std::filesystem::path& path, const std::string& array,
                                     const std::string& attribute);

/// About an array of sequences: the name of that which says which steps are there, (events, steps) of 1 and 0.
inline constexpr const char* kStepsAttribute = "steps";

class EventArrays {
 public:
  /// Opens the data sets called `names`. Data error naming the file and those it has if one is missing, holds no
  /// numbers, or another number of events; `way_out` ends the first of these messages.
  EventArrays(const std::filesystem::path& path, const std::vector<std::string>& names,
              const std::string& way_out = "name it with --field");
  ~EventArrays();
  EventArrays(const EventArrays&) = delete;
  EventArrays& operator=(const EventArrays&) = delete;

  int64_t events() const;
  /// Of array i without the axis of the events.
  std::vector<int64_t> shape(size_t i) const;
  /// Events [first, first + count) of array i.
  std::vector<float> read(size_t i, int64_t first, int64_t count) const;
  /// The same in float64; integers from 2^53 on may be rounded.
  std::vector<double> read_exact(size_t i, int64_t first, int64_t count) const;
  bool holds_integers(size_t i) const;
  /// h5py's, read as 0 and 1.
  bool holds_booleans(size_t i) const;

 private:
  class File;
  std::unique_ptr<File> file_;
};

struct EventArrayShape {
  std::string name;
  std::vector<int64_t> shape;  // without the axis of the events
};

class EventArraysFile;

class EventArraysWriter {
 public:
  /// Arrays of `events` events each. A path that ends in .parquet is a Parquet file, with a row an event, where texts
  /// about the file are its metadata and those about array i the entry "NAME/..." there, a list as JSON; its numbers of
  /// events are the columns "file" and "row". One that ends in .root is a ROOT file with the tree "scores", a branch an
  /// array and the branches "file" and "row"; names become identifiers. Texts about the file are TObjStrings of it,
  /// those about arrays one that is JSON, by branch. Others are HDF5. Environment error when the file cannot be made;
  /// user error for what has no form in the format.
  EventArraysWriter(const std::filesystem::path& path, const std::vector<EventArrayShape>& arrays, int64_t events);
  /// Without close() nothing is left of the file.
  ~EventArraysWriter();
  EventArraysWriter(const EventArraysWriter&) = delete;
  EventArraysWriter& operator=(const EventArraysWriter&) = delete;

  /// A text about the whole file, as an attribute of its root. Environment error when it cannot be written.
  void set_attribute(const std::string& name, const std::string& text);
  /// Texts about array i.
  void set_attribute(size_t i, const std::string& name, const std::vector<std::string>& texts);
  /// That array `of_steps` says which steps of array i are there.
  void set_steps(size_t i, size_t of_steps);
  /// Where each event comes from: the group "event_numbers" with the data sets "file", the place of its file among
  /// these, and "row", its row in it from 0 on. `events`: how many each file has, all of them in order.
  void number_events(std::span<const int64_t> events);
  /// Values of array i for the events from `first` on. Of Parquet and ROOT in the order of the events: all arrays have
  /// their values of some before those of the next come.
  void write(size_t i, int64_t first, std::span<const float> values);
  /// Completes the file and puts it in its place, over a former one. Environment error when that fails.
  void close();

 private:
  std::unique_ptr<EventArraysFile> file_;
};

}  // namespace linac::data
