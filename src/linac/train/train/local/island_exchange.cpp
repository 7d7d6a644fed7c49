#include "linac/train/train/local/island_exchange.h"

#include "linac/base/base/error.h"

namespace linac::train {

IslandExchange::IslandExchange(const ExchangeParts& parts) : SynchronousExchange(parts), islands_(*parts.islands) {
  if (parts.devices != nullptr)
    throw user_error(
        "[train] groups that train apart take one GPU a worker: set distribution.devices_per_worker = 1 and as many "
        "workers as there are GPUs");
}

void IslandExchange::sum(const std::vector<Bucket>& buckets, std::vector<Message>& messages, ReplicaProgress& progress,
                         Message& total) {
  SynchronousExchange::sum(buckets, messages, progress, total);
  if (!islands_.is_one_selected()) return;
  const auto islands = static_cast<float>(islands_.count());
  for (float& value : total.gradient()) value *= islands;
  for (float& value : total.statistics()) value *= islands;
}

}  // namespace linac::train
