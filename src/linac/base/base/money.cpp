#include "linac/base/base/money.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace linac {

std::string money(double amount, std::string_view currency) {
  constexpr int kDecimalsMin = 2, kDecimalsMax = 8;
  const bool small = amount > 0 && amount < 1;
  const int decimals = small ? 1 - static_cast<int>(std::floor(std::log10(amount))) : kDecimalsMin;
  return fmt::format("{:.{}f} {}", amount, std::clamp(decimals, kDecimalsMin, kDecimalsMax), currency);
}

}  // namespace linac
