#pragma once
// The contract of samplers. A suggestion is a pure function of (space, history, seed, trial number): no clock, no
// hidden state. Some learn from several objectives, the others refuse them. A sampler may keep what it computed; it
// recognises by History::fingerprint() whether that still holds, so a sampler that lives on and one made anew give the
// same bits. A sampler is used by one thread.
//
// Bits: the same program gives the same ones on every processor of an architecture on which the C library's exp, log,
// pow and erfc round alike (x86-64 with FMA; all of AArch64). Elsewhere a study is continued, but not replayed.

#include <memory>
#include <string>
#include <vector>

#include "linac/control/tune/draws.h"
#include "linac/control/tune/history.h"
#include "linac/control/tune/space.h"

namespace linac::tune {

/// What SamplerSettings::cost says of time.
constexpr const char* kSeconds = "seconds";

/// A study's choice of sampler. 0: the sampler's own choice.
struct SamplerSettings {
  std::string name = "tpe";
  int startup = 0;
  int candidates = 0;
  bool noisy = false;
  std::string cost = kSeconds;

  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name,
      "random, grid, sobol, tpe, cma-es, gp, eipu, ehvi, nsga-ii or nsga-iii; several objectives: not cma-es, gp and "
      "eipu");
    v("startup", startup, "so many trials are points of a Sobol sequence, before results are looked at");
    v("candidates", candidates, "tpe: points that are compared for a suggestion");
    v("noisy", noisy, "gp, eipu, ehvi: the same point may give another value");
    v("cost", cost,
      "what a trial took, which eipu spares and budget.cost bounds: seconds, from its ask to its end; or a measure of "
      "the training, in its last epoch; or a key of a command's output.json; what a program tells of itself counts "
      "first");
  }
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  /// A point of the history's space. It may repeat one, or break a constraint: suggest() below asks again.
  virtual Point suggest(const History& history, const Ask& ask) = 0;
};

/// By the table of samplers/table.cpp. User error with the nearest name.
std::unique_ptr<Sampler> make_sampler(const SamplerSettings& settings);
std::vector<std::string> sampler_names();

/// What a sampler learns from.
enum class Objectives { kOne, kSeveral };
Objectives objectives_of(const std::string& sampler);

/// What a study tries next: the sampler's point, or another one of its if that was tried before or breaks a constraint;
/// after some refusals a random point that neither does; a repeated one where none is found, as when a space is
/// exhausted. User error if no point is found that the constraints allow.
Point suggest(Sampler& sampler, const History& history, uint64_t seed, int64_t number);

/// Uniform over the unit cube.
Point random_point(const Space& space, Draws& draws);

}  // namespace linac::tune
