#include "linac/control/tune/draws.h"

#include <cmath>

#include "linac/control/tune/normal.h"

namespace linac::tune {

Draws::Draws(const Ask& ask, uint32_t use)
    : key_{.seed = ask.seed,
           .stream = Stream::kTune,
           .lane = use,
           .epoch = static_cast<uint32_t>(static_cast<uint64_t>(ask.number) >> 32),
           .step = static_cast<uint32_t>(ask.number),
           .replica = ask.attempt} {}

uint32_t Draws::bits() {
  const uint64_t place = next_++ % ready_.size();
  if (place == 0) fill_bits(key_, next_ - 1, ready_);
  return ready_[place];
}

double Draws::uniform() {
  const uint64_t high = bits() >> 5, low = bits() >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

double Draws::normal() {
  return normal_quantile(uniform() + 0x1p-54);
}

size_t Draws::below(size_t n) {
  return static_cast<size_t>(uniform() * static_cast<double>(n));
}

}  // namespace linac::tune
