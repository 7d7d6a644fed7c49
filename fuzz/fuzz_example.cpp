// Any bytes are either refused with linac::Error, or an Example that survives being written and read again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "linac/base/error.h"
#include "linac/data/example.h"

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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
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
