// The tables of functions that kernels_<isa>.cpp define, by instruction set. Which of these files are compiled follows
// from the processor that is compiled for (CMakeLists.txt).

#include "linac/base/base/error.h"
#include "linac/model/kernels/matrix_kernels.h"
#include "linac/model/kernels/plane_kernels.h"
#include "linac/model/kernels/pool_kernels.h"
#include "linac/model/kernels/recurrent_kernels.h"
#include "linac/model/kernels/row_kernels.h"
#include "linac/model/kernels/spectral_kernels.h"

#if defined(__x86_64__)
#define LINAC_DECLARE(TABLE) extern const TABLE kGeneric##TABLE, kAvx2##TABLE, kAvx512##TABLE
#define LINAC_CHOOSE(ISA, TABLE) \
  ((ISA) == Isa::kAvx512 ? kAvx512##TABLE : (ISA) == Isa::kAvx2 ? kAvx2##TABLE : kGeneric##TABLE)
#elif defined(__aarch64__)
#define LINAC_DECLARE(TABLE) extern const TABLE kGeneric##TABLE, kNeon##TABLE
#define LINAC_CHOOSE(ISA, TABLE) ((ISA) == Isa::kNeon ? kNeon##TABLE : kGeneric##TABLE)
#else
#define LINAC_DECLARE(TABLE) extern const TABLE kGeneric##TABLE
#define LINAC_CHOOSE(ISA, TABLE) kGeneric##TABLE
#endif

namespace linac::kernels {

LINAC_DECLARE(MatrixKernels);
LINAC_DECLARE(PlaneKernels);
LINAC_DECLARE(PoolKernels);
LINAC_DECLARE(RecurrentKernels);
LINAC_DECLARE(RowKernels);
LINAC_DECLARE(SpectralKernels);

const MatrixKernels& matrix_kernels(Isa isa) {
  LINAC_CHECK(has_isa(isa));
  return LINAC_CHOOSE(isa, MatrixKernels);
}

const PlaneKernels& plane_kernels(Isa isa) {
  LINAC_CHECK(has_isa(isa));
  return LINAC_CHOOSE(isa, PlaneKernels);
}

const PoolKernels& pool_kernels(Isa isa) {
  LINAC_CHECK(has_isa(isa));
  return LINAC_CHOOSE(isa, PoolKernels);
}

const RecurrentKernels& recurrent_kernels(Isa isa) {
  LINAC_CHECK(has_isa(isa));
  return LINAC_CHOOSE(isa, RecurrentKernels);
}

const RowKernels& row_kernels(Isa isa) {
  LINAC_CHECK(has_isa(isa));
  return LINAC_CHOOSE(isa, RowKernels);
}

const SpectralKernels& spectral_kernels(Isa isa) {
  LINAC_CHECK(has_isa(isa));
  return LINAC_CHOOSE(isa, SpectralKernels);
}

}  // namespace linac::kernels
