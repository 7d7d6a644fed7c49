#include "linac/models/kernels.h"

#include "linac/base/error.h"

namespace linac::models {

Kernels kernels_of(const std::string& name) {
  LINAC_CHECK(name == "linac" || name == "aten");
  return name == "linac" ? Kernels::kLinac : Kernels::kAten;
}

}  // namespace linac::models
