#pragma once
// The record of one shower in a TFRecord file. A parser is for one thread.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/formats/example.h"
#include "linac/io/data/showers.h"

namespace linac::data {

/// A shower as its record holds it, in Units::kSamples.
struct RecordedShower {
  std::span<const uint8_t> cells;  // float32 as in memory, of any alignment
  EventShape shape;                // of these cells
  float energy = 0, angle = 0, ecal = 0;
};

class ShowerRecordParser {
 public:
  /// `name`: what errors call the file.
  explicit ShowerRecordParser(std::string name) : name_(std::move(name)) {}

  /// What it returns borrows from `record` and from this parser, until the next call. Data error naming file and
  /// record, `number`, for what is no shower. Values are not looked at.
  RecordedShower parse(std::span<const std::byte> record, int64_t number);
  /// The same of a shower that has to be of this shape.
  RecordedShower parse(std::span<const std::byte> record, int64_t number, const EventShape& shape);

 private:
  bool parse_packed(std::span<const uint8_t> record, RecordedShower& out);
  RecordedShower parse_any(std::span<const uint8_t> record, int64_t number);
  const std::vector<float>& floats(const std::string& field, int64_t number) const;
  float number_of(const std::string& field, int64_t number) const;
  EventShape shape_of(int64_t number) const;
  [[noreturn]] void fail(int64_t number, const std::string& what) const;

  const std::string name_;
  std::vector<PackedList> lists_;
  Example example_;
};

}  // namespace linac::data
