#pragma once
// tf.train.Example: named lists of floats, integers or byte strings, as TFRecord files hold them. Pure, thread-safe.
// The parser is fuzzed (fuzz/fuzz_example.cpp): it trusts nothing in the bytes.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace linac::data {

/// One of the lists is filled.
struct Feature {
  std::vector<float> floats;
  std::vector<int64_t> integers;
  std::vector<std::string> bytes;
  bool operator==(const Feature&) const = default;
};

using Example = std::map<std::string, Feature>;

/// Accepts packed and unpacked lists. Data error "[protobuf] byte N: ..." for what is not an Example; the caller adds
/// file and record.
Example parse_example(std::span<const uint8_t> bytes);

std::string encode_example(const Example& example);

}  // namespace linac::data
