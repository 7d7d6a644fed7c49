#include "linac/train/train/exchange/exchange.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/train/train/exchange/synchronous.h"

namespace linac::train {
namespace {

template <class Rule>
std::unique_ptr<Exchange> make(const job::Job& job, comm::Group& group, ReplicaDevices* devices) {
  return std::make_unique<Rule>(job, group, devices);
}

struct ExchangeRule {
  const char* name;
  MakeExchange make;
};
constexpr ExchangeRule kRules[] = {
    {kSynchronous, make<SynchronousExchange>},
};

}  // namespace

MakeExchange exchange_named(std::string_view rule) {
  std::string known;
  for (const ExchangeRule& row : kRules) {
    if (rule == row.name) return row.make;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw user_error(fmt::format("[train] '{}' is no rule by which replicas come together (known: {})", rule, known));
}

}  // namespace linac::train
