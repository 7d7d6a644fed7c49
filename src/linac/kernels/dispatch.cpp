// The tables of functions that kernels_<isa>.cpp define, by instruction set.

#include "linac/base/error.h"
#include "linac/kernels/plane_kernels.h"
#include "linac/kernels/recurrent_kernels.h"
#include "linac/kernels/row_kernels.h"
#include "linac/kernels/spectral_kernels.h"

namespace linac::kernels {

extern const PlaneKernels kGenericPlaneKernels, kAvx2PlaneKernels, kAvx512PlaneKernels;
extern const RecurrentKernels kGenericRecurrentKernels, kAvx2RecurrentKernels, kAvx512RecurrentKernels;
extern const RowKernels kGenericRowKernels, kAvx2RowKernels, kAvx512RowKernels;
extern const SpectralKernels kGenericSpectralKernels, kAvx2SpectralKernels, kAvx512SpectralKernels;

namespace {

template <class Table>
const Table& choose(Isa isa, const Table& generic, const Table& avx2, const Table& avx512) {
  LINAC_CHECK(has_isa(isa));
  switch (isa) {
    case Isa::kAvx512:
      return avx512;
    case Isa::kAvx2:
      return avx2;
    case Isa::kGeneric:
      break;
  }
  return generic;
}

}  // namespace

const PlaneKernels& plane_kernels(Isa isa) {
  return choose(isa, kGenericPlaneKernels, kAvx2PlaneKernels, kAvx512PlaneKernels);
}

const RecurrentKernels& recurrent_kernels(Isa isa) {
  return choose(isa, kGenericRecurrentKernels, kAvx2RecurrentKernels, kAvx512RecurrentKernels);
}

const RowKernels& row_kernels(Isa isa) {
  return choose(isa, kGenericRowKernels, kAvx2RowKernels, kAvx512RowKernels);
}

const SpectralKernels& spectral_kernels(Isa isa) {
  return choose(isa, kGenericSpectralKernels, kAvx2SpectralKernels, kAvx512SpectralKernels);
}

}  // namespace linac::kernels
