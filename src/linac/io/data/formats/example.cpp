#include "linac/io/data/formats/example.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/protowire.h"

namespace linac::data {
namespace {

using proto::Field;
using proto::Reader;
using proto::WireType;

// Field numbers of tensorflow/core/example/{example,feature}.proto.
constexpr uint32_t kExampleFeatures = 1;
constexpr uint32_t kFeaturesEntry = 1;
constexpr uint32_t kEntryKey = 1;
constexpr uint32_t kEntryValue = 2;
constexpr uint32_t kFeatureBytes = 1;
constexpr uint32_t kFeatureFloats = 2;
constexpr uint32_t kFeatureIntegers = 3;
constexpr uint32_t kListValue = 1;

[[noreturn]] void wrong_type(const char* what) {
  throw data_error(
      fmt::format("[protobuf] {} is not encoded as in a tf.train.Example; is this another kind of record?", what));
}

std::span<const uint8_t> message_of(const Field& field, const char* what) {
  if (field.type != WireType::kBytes) wrong_type(what);
  return field.bytes;
}

void parse_floats(std::span<const uint8_t> bytes, std::vector<float>& out) {
  Reader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number != kListValue) continue;
    if (field->type == WireType::kFixed32) {
      out.push_back(field->as_float());
      continue;
    }
    const auto packed = message_of(*field, "a list of floats");
    if (packed.size() % sizeof(float) != 0) wrong_type("a packed list of floats");
    if (packed.empty()) continue;
    const size_t old = out.size();
    out.resize(old + packed.size() / sizeof(float));
    std::memcpy(out.data() + old, packed.data(), packed.size());
  }
}

void parse_integers(std::span<const uint8_t> bytes, std::vector<int64_t>& out) {
  Reader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number != kListValue) continue;
    if (field->type == WireType::kVarint) {
      out.push_back(static_cast<int64_t>(field->bits));
      continue;
    }
    Reader packed(message_of(*field, "a list of integers"));
    while (!packed.at_end()) out.push_back(static_cast<int64_t>(packed.varint()));
  }
}

void parse_bytes(std::span<const uint8_t> bytes, std::vector<std::string>& out) {
  Reader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number != kListValue) continue;
    message_of(*field, "a list of byte strings");
    out.emplace_back(field->text());
  }
}

Feature parse_feature(std::span<const uint8_t> bytes) {
  Feature feature;
  FeatureKind kind = FeatureKind::kFloats;
  Reader reader(bytes);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case kFeatureBytes:
        parse_bytes(message_of(*field, "a feature"), feature.bytes);
        kind = FeatureKind::kBytes;
        break;
      case kFeatureFloats:
        parse_floats(message_of(*field, "a feature"), feature.floats);
        kind = FeatureKind::kFloats;
        break;
      case kFeatureIntegers:
        parse_integers(message_of(*field, "a feature"), feature.integers);
        kind = FeatureKind::kIntegers;
        break;
      default:
        break;  // a later version's field
    }
  }
  if (feature.size() == 0) feature.kind_if_empty = kind;
  return feature;
}

void parse_entry(std::span<const uint8_t> bytes, Example& example) {
  std::string key;
  Feature value;
  Reader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == kEntryKey) {
      message_of(*field, "a feature's name");
      key = field->text();
    } else if (field->number == kEntryValue) {
      value = parse_feature(message_of(*field, "a feature"));
    }
  }
  example[std::move(key)] = std::move(value);
}

/// The content of a message that has this field alone.
std::optional<std::span<const uint8_t>> only_field(std::span<const uint8_t> message, uint32_t number) {
  Reader reader(message);
  const auto field = reader.next();
  if (!field || field->number != number || field->type != WireType::kBytes || !reader.at_end()) return std::nullopt;
  return field->bytes;
}

bool are_integers(std::span<const uint8_t> packed) {
  for (Reader reader(packed); !reader.at_end();) reader.varint();
  return true;
}

/// A name and behind it one list in one piece.
std::optional<PackedList> packed_list(std::span<const uint8_t> entry) {
  Reader reader(entry);
  const auto key = reader.next(), value = reader.next();
  if (!value || !reader.at_end() || key->number != kEntryKey || key->type != WireType::kBytes) return std::nullopt;
  if (value->number != kEntryValue || value->type != WireType::kBytes) return std::nullopt;
  PackedList list;
  list.name = key->text();
  auto values = only_field(value->bytes, kFeatureFloats);
  if (!values && (values = only_field(value->bytes, kFeatureIntegers))) list.kind = FeatureKind::kIntegers;
  if (values) values = only_field(*values, kListValue);
  if (!values || values->empty()) return std::nullopt;
  list.bytes = *values;
  const bool sound = list.kind == FeatureKind::kFloats ? values->size() % sizeof(float) == 0 : are_integers(*values);
  return sound ? std::optional(list) : std::nullopt;
}

std::string encode_feature(const Feature& feature) {
  std::string list, out;
  if (feature.kind() == FeatureKind::kBytes) {
    for (const std::string& value : feature.bytes) proto::append_bytes(list, kListValue, value);
    proto::append_bytes(out, kFeatureBytes, list);
  } else if (feature.kind() == FeatureKind::kIntegers) {
    proto::append_packed_varints(list, kListValue, feature.integers);
    proto::append_bytes(out, kFeatureIntegers, list);
  } else {
    proto::append_packed_floats(list, kListValue, feature.floats);
    proto::append_bytes(out, kFeatureFloats, list);
  }
  return out;
}

}  // namespace

FeatureKind Feature::kind() const {
  return !bytes.empty()      ? FeatureKind::kBytes
         : !integers.empty() ? FeatureKind::kIntegers
         : !floats.empty()   ? FeatureKind::kFloats
                             : kind_if_empty;
}

Example parse_example(std::span<const uint8_t> bytes) {
  Example example;
  Reader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number != kExampleFeatures) continue;
    Reader features(message_of(*field, "the list of features"));
    while (const auto entry = features.next()) {
      if (entry->number == kFeaturesEntry) parse_entry(message_of(*entry, "a named feature"), example);
    }
  }
  return example;
}

bool find_packed_lists(std::span<const uint8_t> bytes, std::vector<PackedList>& out) {
  constexpr size_t kListsMax = 64;  // names are compared with each other
  out.clear();
  try {
    const auto features = only_field(bytes, kExampleFeatures);
    if (!features) return false;
    Reader reader(*features);
    while (const auto entry = reader.next()) {
      if (entry->number != kFeaturesEntry || entry->type != WireType::kBytes) return false;
      const auto list = packed_list(entry->bytes);
      const auto same_name = [&](const PackedList& other) { return other.name == list->name; };
      if (!list || out.size() == kListsMax || std::any_of(out.begin(), out.end(), same_name)) return false;
      out.push_back(*list);
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string encode_example(const Example& example) {
  std::string features;
  for (const auto& [key, value] : example) {
    std::string entry;
    proto::append_bytes(entry, kEntryKey, key);
    proto::append_bytes(entry, kEntryValue, encode_feature(value));
    proto::append_bytes(features, kFeaturesEntry, entry);
  }
  std::string out;
  proto::append_bytes(out, kExampleFeatures, features);
  return out;
}

}  // namespace linac::data
