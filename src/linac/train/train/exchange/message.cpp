#include "linac/train/train/exchange/message.h"

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::train {

Message::Message(const graph::Parameters& parameters, size_t losses)
    : gradient_size(parameters.trainable.size()),
      statistics_size(parameters.statistics.size()),
      losses_size(losses),
      values(gradient_size + statistics_size + losses_size + kFlags) {}

bool Message::fits(const graph::Parameters& parameters, size_t losses) const {
  return gradient_size == parameters.trainable.size() && statistics_size == parameters.statistics.size() &&
         losses_size == losses && !values.empty();
}

void Message::fill(const models::Contribution& contribution, bool gradient_told, int replicas, const Wishes& wishes) {
  LINAC_CHECK(contribution.losses.size() == losses_size);
  const auto fill_rest = [](std::span<float> part, std::span<float>::iterator from) {
    std::fill(from, part.end(), 0.0F);
  };
  if (!gradient_told)
    fill_rest(gradient(), std::copy(contribution.gradient.begin(), contribution.gradient.end(), gradient().begin()));
  fill_rest(statistics(),
            std::transform(contribution.statistics.begin(), contribution.statistics.end(), statistics().begin(),
                           [&](float value) { return value / static_cast<float>(replicas); }));
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
