#include "linac/models/numerics.h"

#include "linac/base/error.h"

namespace linac::models {

Numerics numerics_of(const std::string& kernels, const std::string& precision) {
  LINAC_CHECK(kernels == "linac" || kernels == "aten");
  LINAC_CHECK(precision == "fp32" || precision == "bf16");
  return {kernels == "linac" ? Kernels::kLinac : Kernels::kAten,
          precision == "fp32" ? Precision::kFp32 : Precision::kBf16};
}

}  // namespace linac::models
