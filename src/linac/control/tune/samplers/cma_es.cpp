// CMA-ES by asking and telling (cma_state.h). A generation is as many trials as were told one after the other, whoever
// asked for them and when: with one worker these are the generations of the tutorial, with many a late trial counts in
// the generation in which it comes.

#include "linac/control/tune/samplers/cma_state.h"
#include "linac/control/tune/samplers/samplers.h"
#include "linac/control/tune/samplers/startup.h"

namespace linac::tune {
namespace {

constexpr size_t kStartup = 10;  // about a generation

class CmaEs : public Sampler {
 public:
  explicit CmaEs(const SamplerSettings& settings) : settings_(settings) {}

  Point suggest(const History& history, const Ask& ask) override {
    const Space& space = history.space();
    const size_t startup = settings_.startup > 0 ? static_cast<size_t>(settings_.startup) : kStartup;
    const bool holds =
        state_ && seed_ == ask.seed && count_ <= history.told().size() && history.fingerprint(count_) == fingerprint_;
    if (!holds) {
      state_.emplace(space, ask.seed, startup);
      count_ = 0;
    }
    for (; count_ < history.told().size(); ++count_) state_->add(history.trials()[history.told()[count_]]);
    seed_ = ask.seed;
    fingerprint_ = history.fingerprint(count_);
    if (!state_->begun()) return startup_point(space, ask);
    return space.point_of(state_->draw(space, ask));
  }

 private:
  SamplerSettings settings_;
  std::optional<CmaState> state_;  // after count_ of what was told
  uint64_t seed_ = 0, fingerprint_ = 0;
  size_t count_ = 0;
};

}  // namespace

std::unique_ptr<Sampler> make_cma_es(const SamplerSettings& settings) {
  return std::make_unique<CmaEs>(settings);
}

}  // namespace linac::tune
