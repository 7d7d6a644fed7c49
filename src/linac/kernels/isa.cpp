#include "linac/kernels/isa.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "linac/base/error.h"

namespace linac::kernels {
namespace {

constexpr Isa kAll[] = {Isa::kAvx512, Isa::kAvx2, Isa::kGeneric};  // best first

Isa choose() {
  const char* const wanted = std::getenv("LINAC_ISA");
  for (const Isa isa : kAll) {
    if (wanted == nullptr || *wanted == '\0') {
      if (has_isa(isa)) return isa;
    } else if (std::string(wanted) == to_string(isa)) {
      if (has_isa(isa)) return isa;
      throw environment_error(
          fmt::format("[kernels] LINAC_ISA={}: this processor does not have it; use a lower one, or unset it", wanted));
    }
  }
  throw user_error(fmt::format("[kernels] LINAC_ISA={}: no such instruction set (known: generic, avx2, avx512)",
                               wanted == nullptr ? "" : wanted));
}

}  // namespace

const char* to_string(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return "generic";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

bool has_isa(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
  }
  return false;
}

Isa best_isa() {
  static const Isa chosen = choose();
  return chosen;
}

}  // namespace linac::kernels
