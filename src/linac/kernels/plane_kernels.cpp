#include "linac/kernels/plane_kernels.h"

#include "linac/base/error.h"

namespace linac::kernels {

extern const PlaneKernels kGenericPlaneKernels, kAvx2PlaneKernels, kAvx512PlaneKernels;

const PlaneKernels& plane_kernels(Isa isa) {
  LINAC_CHECK(has_isa(isa));
  switch (isa) {
    case Isa::kAvx512:
      return kAvx512PlaneKernels;
    case Isa::kAvx2:
      return kAvx2PlaneKernels;
    case Isa::kGeneric:
      break;
  }
  return kGenericPlaneKernels;
}

}  // namespace linac::kernels
