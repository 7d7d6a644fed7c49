#include "linac/train/train/exchange/exchange.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/train/train/exchange/synchronous.h"
#include "linac/train/train/local/island_exchange.h"

namespace linac::train {
namespace {

template <class Rule>
std::unique_ptr<Exchange> make(const ExchangeParts& parts) {
  return std::make_unique<Rule>(parts);
}

struct ExchangeRule {
  const char* name;
  MakeExchange make;
};
constexpr ExchangeRule kRules[] = {
    {"exact", make<SynchronousExchange>}, {"local", make<IslandExchange>},  {"easgd", make<IslandExchange>},
    {"downpour", make<IslandExchange>},   {"eamsgd", make<IslandExchange>}, {"gem", make<IslandExchange>},
    {"hybrid", make<IslandExchange>},
};

}  // namespace

MakeExchange exchange_named(std::string_view mode) {
  std::string known;
  for (const ExchangeRule& row : kRules) {
    if (mode == row.name) return row.make;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw user_error(fmt::format("[train] '{}' is no rule by which replicas come together (known: {})", mode, known));
}

}  // namespace linac::train
