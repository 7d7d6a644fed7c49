#include "linac/kernels/plane_kernels.h"

#include "linac/base/error.h"
#include "linac/kernels/row_kernels.h"
#include "linac/kernels/spectral_kernels.h"

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

extern const SpectralKernels kGenericSpectralKernels, kAvx2SpectralKernels, kAvx512SpectralKernels;

const SpectralKernels& spectral_kernels(Isa isa) {
  LINAC_CHECK(has_isa(isa));
  switch (isa) {
    case Isa::kAvx512:
      return kAvx512SpectralKernels;
    case Isa::kAvx2:
      return kAvx2SpectralKernels;
    case Isa::kGeneric:
      break;
  }
  return kGenericSpectralKernels;
}

extern const RowKernels kGenericRowKernels, kAvx2RowKernels, kAvx512RowKernels;

const RowKernels& row_kernels(Isa isa) {
  LINAC_CHECK(has_isa(isa));
  switch (isa) {
    case Isa::kAvx512:
      return kAvx512RowKernels;
    case Isa::kAvx2:
      return kAvx2RowKernels;
    case Isa::kGeneric:
      break;
  }
  return kGenericRowKernels;
}

}  // namespace linac::kernels
