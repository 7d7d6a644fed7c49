// Any text is either refused with linac::Error as a program of torch.export and as its list of weights, or read within
// the limits. A line "weights" in front makes it a list of weights.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/model/pt2/program.h"

namespace pt2 = linac::pt2;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kWeights = "weights\n";
  std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    if (text.starts_with(kWeights)) {
      for (const auto& [name, payload] : pt2::read_payloads(text.substr(kWeights.size()))) {
        LINAC_CHECK(payload.sizes.size() == payload.strides.size() && payload.sizes.size() <= pt2::kRankMax);
        LINAC_CHECK(payload.offset >= 0);
        for (size_t i = 0; i < payload.sizes.size(); ++i) LINAC_CHECK(payload.sizes[i] >= 0 && payload.strides[i] >= 0);
      }
      return 0;
    }
    const pt2::Program program = pt2::read_program(text);
    LINAC_CHECK(program.nodes.size() <= pt2::kNodesMax);
    for (const auto& [name, tensor] : program.tensors) LINAC_CHECK(tensor.shape.size() <= pt2::kRankMax);
  } catch (const linac::Error& error) {
    LINAC_CHECK(error.code() == linac::ErrorCode::kUser);
  }
  return 0;
}
