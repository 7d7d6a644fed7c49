#pragma once
// Amounts of money as texts.

#include <string>
#include <string_view>

namespace linac {

/// With two decimals, and with more where the first two digits that count come later: "12.50 EUR", "0.0042 EUR".
std::string money(double amount, std::string_view currency);

}  // namespace linac
