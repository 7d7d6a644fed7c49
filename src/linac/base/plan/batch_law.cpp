#include "linac/base/plan/batch_law.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "linac/base/plan/estimate.h"

namespace linac::plan {
namespace {

// Steps are no straight line in their events: kernels take 16 at a time, and caches end. Of a step between two measured
// batches, and for each doubling beyond them.
constexpr double kBetweenSpread = 0.08, kBeyondSpread = 0.08;

AtBatch own(const Measured& measured) {
  return {measured.batch, measured.wave_s, measured.fixed_s, measured.step_cpu_s, measured.memory_gib};
}

// By a and b of the line through two, never below `least` of the smaller one.
double on_line(double batch, const AtBatch& a, const AtBatch& b, double AtBatch::*figure) {
  constexpr double kLeast = 0.1;
  const double slope = (b.*figure - a.*figure) / static_cast<double>(b.batch - a.batch);
  return std::max(a.*figure + slope * (batch - static_cast<double>(a.batch)), kLeast * std::min(a.*figure, b.*figure));
}

void take(Measured& measured, const AtBatch& at, double spread) {
  // Updates are hidden by computing as far as it goes on.
  const double step = (at.wave_s + at.fixed_s) / measured.step_s();
  for (Update& update : measured.updates) {
    update.beside_s *= step;
    for (Bucket& bucket : update.buckets) bucket.left_s *= step;
  }
  // Two workers send each other as much as before.
  if (measured.pair_s) *measured.pair_s += at.wave_s + at.fixed_s - measured.step_s();
  measured.pair_cpu_s += 2 * (at.step_cpu_s - measured.step_cpu_s) / measured.replicas;
  const double events = static_cast<double>(at.batch) / static_cast<double>(measured.batch);
  // Of a test as many events: what each of them takes.
  if (measured.test_s) *measured.test_s *= at.wave_s / measured.wave_s / events;
  measured.flop *= events;
  measured.batch = at.batch;
  measured.wave_s = at.wave_s;
  measured.fixed_s = at.fixed_s;
  measured.step_cpu_s = at.step_cpu_s;
  measured.memory_gib = at.memory_gib;
  measured.doubt = joined(measured.doubt, spread);
}

}  // namespace

bool has_batch_law(const Measured& measured) {
  return std::ranges::any_of(measured.at_batches, [&](const AtBatch& at) { return at.batch != measured.batch; });
}

Measured at_batch(const Measured& measured, int64_t batch) {
  Measured found = measured;
  if (batch == measured.batch) return found;
  std::vector<AtBatch> all = measured.at_batches;
  all.insert(all.begin(), own(measured));
  std::ranges::stable_sort(all, {}, &AtBatch::batch);
  const auto same = [](const AtBatch& a, const AtBatch& b) { return a.batch == b.batch; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  const auto wanted = static_cast<double>(batch);
  if (all.size() == 1) {
    const double ratio = wanted / static_cast<double>(measured.batch);
    const double times = std::sqrt(ratio);
    take(found,
         {batch, times * measured.wave_s, measured.fixed_s, times * measured.step_cpu_s,
          std::max(1.0, ratio) * measured.memory_gib},
         std::abs(std::log(ratio)) / (2 * kFourOfFive));
    return found;
  }
  const auto above = std::ranges::lower_bound(all, batch, {}, &AtBatch::batch);
  if (above != all.end() && above->batch == batch) {
    take(found, *above, 0);
    return found;
  }
  const auto second = std::clamp(above, all.begin() + 1, all.end() - 1);
  const AtBatch &a = *(second - 1), &b = *second;
  const double beyond = std::max(
      {0.0, std::log2(static_cast<double>(a.batch) / wanted), std::log2(wanted / static_cast<double>(b.batch))});
  take(found,
       {batch, on_line(wanted, a, b, &AtBatch::wave_s), on_line(wanted, a, b, &AtBatch::fixed_s),
        on_line(wanted, a, b, &AtBatch::step_cpu_s), on_line(wanted, a, b, &AtBatch::memory_gib)},
       kBetweenSpread + kBeyondSpread * beyond);
  return found;
}

Measured slowed(Measured measured, double times, double spread) {
  AtBatch at = own(measured);
  at.wave_s *= times;
  at.step_cpu_s *= times;
  take(measured, at, spread);
  return measured;
}

}  // namespace linac::plan
