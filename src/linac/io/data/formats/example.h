#pragma once
// tf.train.Example: named lists of floats, integers or byte strings, as TFRecord files hold them. Pure, thread-safe.
// The parser is fuzzed (fuzz/fuzz_example.cpp): it trusts nothing in the bytes.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linac::data {

enum class FeatureKind : uint8_t { kFloats, kIntegers, kBytes };

/// One of the lists is filled.
struct Feature {
  std::vector<float> floats;
  std::vector<int64_t> integers;
  std::vector<std::string> bytes;
  FeatureKind kind_if_empty = FeatureKind::kFloats;  // a list without values has a kind as well
  bool operator==(const Feature&) const = default;

  FeatureKind kind() const;
  size_t size() const { return floats.size() + integers.size() + bytes.size(); }
};

using Example = std::map<std::string, Feature>;

/// Accepts packed and unpacked lists. Data error "[protobuf] byte N: ..." for what is not an Example; the caller adds
/// file and record.
Example parse_example(std::span<const uint8_t> bytes);

/// The values of a named list of floats (little-endian, of any alignment) or integers (varints) inside a record.
struct PackedList {
  std::string_view name;
  FeatureKind kind = FeatureKind::kFloats;
  std::span<const uint8_t> bytes;
};
/// The lists of an Example that holds each of them once, packed in one piece, as libraries write it: nothing is copied.
/// False for whatever is written in another way, has byte strings or empty lists, or is damaged; parse_example() reads
/// or refuses it.
bool find_packed_lists(std::span<const uint8_t> bytes, std::vector<PackedList>& out);

std::string encode_example(const Example& example);

}  // namespace linac::data
