#include "linac/io/data/formats/shower_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/protowire.h"

namespace linac::data {
namespace {

constexpr EventShape kUsualShape{51, 51, 25};

std::string describe(const Feature& feature) {
  if (!feature.integers.empty()) return fmt::format("{} integers", feature.integers.size());
  if (!feature.bytes.empty()) return fmt::format("{} byte strings", feature.bytes.size());
  return fmt::format("{} floats", feature.floats.size());
}

/// Nothing for what is no shape of an image.
std::optional<EventShape> shape_of_axes(const std::vector<int64_t>& axes) {
  if (axes.size() != 3) return std::nullopt;
  const EventShape shape{axes[0], axes[1], axes[2]};
  return is_plausible(shape) ? std::optional(shape) : std::nullopt;
}

std::vector<int64_t> integers_of(const PackedList& list) {
  std::vector<int64_t> values;
  for (proto::Reader reader(list.bytes); !reader.at_end();) values.push_back(static_cast<int64_t>(reader.varint()));
  return values;
}

}  // namespace

void ShowerRecordParser::fail(int64_t number, const std::string& what) const {
  throw data_error(fmt::format("[tfrecord] {}: record {}: {}", name_, number, what));
}

RecordedShower ShowerRecordParser::parse(std::span<const std::byte> record, int64_t number) {
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(record.data()), record.size());
  RecordedShower shower;
  return parse_packed(bytes, shower) ? shower : parse_any(bytes, number);
}

RecordedShower ShowerRecordParser::parse(std::span<const std::byte> record, int64_t number, const EventShape& shape) {
  const RecordedShower shower = parse(record, number);
  if (shower.shape == shape) return shower;
  fail(number, fmt::format("'X' has {} cells of the shape {}, the file's first record has {}", shower.shape.cells(),
                           to_string(shower.shape), to_string(shape)));
}

/// False for all that is unusual or wrong: parse_any() reads it, or says what is wrong.
bool ShowerRecordParser::parse_packed(std::span<const uint8_t> record, RecordedShower& out) {
  if (!find_packed_lists(record, lists_)) return false;
  out.shape = kUsualShape;
  int fields = 0;
  for (const PackedList& list : lists_) {
    if (list.name == "shape") {
      if (list.kind != FeatureKind::kIntegers) return false;
      const auto shape = shape_of_axes(integers_of(list));
      if (!shape) return false;
      out.shape = *shape;
      continue;
    }
    float* const number = list.name == "Y"      ? &out.energy
                          : list.name == "ang"  ? &out.angle
                          : list.name == "ecal" ? &out.ecal
                                                : nullptr;
    if (number == nullptr && list.name != "X") continue;
    if (list.kind != FeatureKind::kFloats || (number != nullptr && list.bytes.size() != sizeof(float))) return false;
    if (number == nullptr)
      out.cells = list.bytes;
    else
      std::memcpy(number, list.bytes.data(), sizeof(float));
    ++fields;
  }
  return fields == 4 && out.cells.size() == static_cast<size_t>(out.shape.cells()) * sizeof(float);
}

RecordedShower ShowerRecordParser::parse_any(std::span<const uint8_t> record, int64_t number) {
  try {
    example_ = parse_example(record);
  } catch (const Error& error) {
    fail(number, error.what());
  }
  const std::vector<float>& cells = floats("X", number);
  return {.cells = {reinterpret_cast<const uint8_t*>(cells.data()), cells.size() * sizeof(float)},
          .shape = shape_of(number),
          .energy = number_of("Y", number),
          .angle = number_of("ang", number),
          .ecal = number_of("ecal", number)};
}

const std::vector<float>& ShowerRecordParser::floats(const std::string& field, int64_t number) const {
  const auto found = example_.find(field);
  if (found != example_.end() && !found->second.floats.empty()) return found->second.floats;
  std::vector<std::string> names;
  for (const auto& [name, feature] : example_) names.push_back(fmt::format("{} ({})", name, describe(feature)));
  fail(number, fmt::format("no float list '{}' (found: {}); a converted shower file has X, Y, ang and ecal", field,
                           names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
}

float ShowerRecordParser::number_of(const std::string& field, int64_t number) const {
  const std::vector<float>& values = floats(field, number);
  if (values.size() != 1) fail(number, fmt::format("'{}' has {} values, wanted is one", field, values.size()));
  return values[0];
}

EventShape ShowerRecordParser::shape_of(int64_t number) const {
  const size_t cells = floats("X", number).size();
  const auto stated = example_.find("shape");
  EventShape shape = kUsualShape;
  if (stated != example_.end()) {
    const std::vector<int64_t>& axes = stated->second.integers;
    const auto said = shape_of_axes(axes);
    if (!said) fail(number, fmt::format("'shape' is [{}], wanted are three numbers of cells", fmt::join(axes, ", ")));
    shape = *said;
  }
  if (static_cast<int64_t>(cells) == shape.cells()) return shape;
  if (stated != example_.end())
    fail(number, fmt::format("'X' has {} cells, its 'shape' says {}", cells, to_string(shape)));
  fail(number, fmt::format("'X' has {} cells, not {} = {}; add the integer list 'shape' to the records", cells,
                           to_string(shape), shape.cells()));
}

}  // namespace linac::data
