#include "linac/control/execution/prices.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"

namespace linac::execution {

Prices Prices::of_text(const std::string& text) {
  Prices prices;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), prices.core);
  if (error != std::errc{} || end != text.data() + text.size()) {
    prices = {};
    config::read(config::parse_text(read_file(text), text), prices, text);
  }
  for (const double price : {prices.core, prices.gpu, prices.memory_gb})
    if (!std::isfinite(price) || price < 0)
      throw user_error(fmt::format("[prices] {}: {} is no price; give 0 or more for an hour", text, price));
  return prices;
}

double Prices::of(const catalog::Resources& resources, double seconds) const {
  const double hourly = core * static_cast<double>(resources.cores) + gpu * static_cast<double>(resources.gpus) +
                        memory_gb * static_cast<double>(resources.memory_mb) / 1024;
  return hourly * seconds / 3600;
}

}  // namespace linac::execution
