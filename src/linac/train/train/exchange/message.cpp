#include "linac/train/train/exchange/message.h"

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::train {

Message::Message(const graph::Parameters& parameters, size_t losses)
    : gradient_size(parameters.trainable.size()),
      statistics_size(parameters.statistics.size()),
      losses_size(losses),
      values(gradient_size + statistics_size + losses_size + kFlags) {}

void Message::fill(const models::Contribution& contribution, bool gradient_told, int replicas, const Wishes& wishes) {
  LINAC_CHECK(contribution.losses.size() == losses_size);
  if (!gradient_told) std::copy(contribution.gradient.begin(), contribution.gradient.end(), gradient().begin());
  std::transform(contribution.statistics.begin(), contribution.statistics.end(), statistics().begin(),
                 [&](float value) { return value / static_cast<float>(replicas); });
  std::copy(contribution.losses.begin(), contribution.losses.end(), losses().begin());
  flag(kEmptyReplicas) = contribution.all_empty ? 1 : 0;
  flag(kBrokenReplicas) = contribution.finite ? 0 : 1;
  flag(kStopWanted) = wishes.stop ? 1 : 0;
  flag(kLeaving) = wishes.leave ? 1 : 0;
  flag(kSaveWanted) = wishes.save ? 1 : 0;
  flag(kEnough) = wishes.enough ? 1 : 0;
  flag(kNextViewWanted) = wishes.next_view ? 1 : 0;
}

}  // namespace linac::train
