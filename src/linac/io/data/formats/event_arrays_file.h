#pragma once
// One format of the files that an EventArraysWriter (event_arrays.h) writes. For the sources of this module. One
// thread.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/formats/event_arrays.h"

namespace linac::data {

/// Member functions as of EventArraysWriter.
class EventArraysFile {
 public:
  virtual ~EventArraysFile() = default;
  virtual void set_attribute(const std::string& name, const std::string& text) = 0;
  virtual void set_attribute(size_t i, const std::string& name, const std::vector<std::string>& texts) = 0;
  /// What array i is called in the file.
  virtual std::string name(size_t i) const = 0;
  virtual void number_events(std::span<const int64_t> events) = 0;
  virtual void write(size_t i, int64_t first, std::span<const float> values) = 0;
  virtual void close() = 0;
};

std::unique_ptr<EventArraysFile> open_hdf5_arrays(const std::filesystem::path& path,
                                                  const std::vector<EventArrayShape>& arrays, int64_t events);
std::unique_ptr<EventArraysFile> open_parquet_arrays(const std::filesystem::path& path,
                                                     const std::vector<EventArrayShape>& arrays, int64_t events);
std::unique_ptr<EventArraysFile> open_root_arrays(const std::filesystem::path& path,
                                                  const std::vector<EventArrayShape>& arrays, int64_t events);

/// What array_texts() finds in files of these formats.
std::vector<std::string> parquet_array_texts(const std::filesystem::path& path, const std::string& array,
                                             const std::string& attribute);
std::vector<std::string> root_array_texts(const std::filesystem::path& path, const std::string& array,
                                          const std::string& attribute);
/// The texts that are JSON; none of anything else.
std::vector<std::string> texts_in(const std::string& json);

}  // namespace linac::data
