// Any bytes are either refused with linac::Error, or an Example that survives being written and read again. Lists that
// are found in them without parsing are those of the Example.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/example.h"

namespace {

// Writing keeps only the first kind of list that a feature has.
linac::data::Example written(linac::data::Example example) {
  for (auto& [name, feature] : example) {
    if (!feature.bytes.empty()) feature.integers.clear();
    if (!feature.bytes.empty() || !feature.integers.empty()) feature.floats.clear();
  }
  return example;
}

}  // namespace

namespace {

void compare_lists(std::span<const uint8_t> bytes) {
  std::vector<linac::data::PackedList> lists;
  if (!linac::data::find_packed_lists(bytes, lists)) return;
  const auto example = linac::data::parse_example(bytes);
  LINAC_CHECK(lists.size() == example.size());
  for (const auto& list : lists) {
    const auto& feature = example.at(std::string(list.name));
    LINAC_CHECK(feature.kind() == list.kind && feature.bytes.empty());
    if (list.kind == linac::data::FeatureKind::kIntegers) {
      LINAC_CHECK(feature.floats.empty() && !feature.integers.empty());
    } else {
      LINAC_CHECK(feature.integers.empty() && feature.floats.size() * sizeof(float) == list.bytes.size());
      LINAC_CHECK(std::memcmp(feature.floats.data(), list.bytes.data(), list.bytes.size()) == 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  compare_lists({data, size});
  try {
    const auto example = written(linac::data::parse_example({data, size}));
    const std::string text = linac::data::encode_example(example);
    const auto again = linac::data::parse_example({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    // Compared as bytes: a NaN is not equal to itself.
    LINAC_CHECK(linac::data::encode_example(again) == text);
  } catch (const linac::Error& error) {
    LINAC_CHECK(error.code() == linac::ErrorCode::kData);
  }
  return 0;
}
