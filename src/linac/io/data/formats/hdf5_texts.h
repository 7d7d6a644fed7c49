#pragma once
// A data set of texts [events] or [events, 1] in an HDF5 file, of fixed or variable length: names of classes. Used by
// one thread at a time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace linac::data {

/// The data sets in the file's root that hold one text an event. Data error when it cannot be opened.
std::vector<std::string> text_names(const std::filesystem::path& path);

class EventTexts {
 public:
  /// One of text_names(), or the path of such a data set in a group. Data error when it cannot be opened.
  EventTexts(const std::filesystem::path& path, const std::string& name);
  ~EventTexts();
  EventTexts(const EventTexts&) = delete;
  EventTexts& operator=(const EventTexts&) = delete;

  int64_t events() const;
  /// Those of the events [first, first + count). Texts of fixed length come without what pads them. Data error when
  /// they cannot be read.
  std::vector<std::string> read(int64_t first, int64_t count) const;

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace linac::data
