#include "linac/model/kernels/isa.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "linac/base/base/error.h"

namespace linac::kernels {
namespace {

Isa choose() {
  const char* const wanted = std::getenv("LINAC_ISA");
  for (const Isa isa : kIsas) {
    if (wanted == nullptr || *wanted == '\0') {
      if (has_isa(isa)) return isa;
    } else if (std::string(wanted) == to_string(isa)) {
      if (has_isa(isa)) return isa;
      throw environment_error(
          fmt::format("[kernels] LINAC_ISA={}: this processor does not have it; use a lower one, or unset it", wanted));
    }
  }
  throw user_error(fmt::format("[kernels] LINAC_ISA={}: no such instruction set (known: generic, neon, avx2, avx512)",
                               wanted == nullptr ? "" : wanted));
}

}  // namespace

const char* to_string(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return "generic";
    case Isa::kNeon:
      return "neon";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

bool has_isa(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::kAvx512) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
#elif defined(__aarch64__)
  if (isa == Isa::kNeon) return true;  // every one has it
#endif
  return isa == Isa::kGeneric;
}

Isa best_isa() {
  static const Isa chosen = choose();
  return chosen;
}

}  // namespace linac::kernels
