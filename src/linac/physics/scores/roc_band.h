#pragma once
// How well a ROC curve is known: the spread of one efficiency over the bootstrap replicas where the other is given
// ("vertical averaging" of Fawcett 2006). Pure, thread-safe.

#include <vector>

#include "linac/physics/scores/estimate.h"
#include "linac/physics/scores/ranking.h"

namespace linac::scores {

/// Background efficiencies, denser at low ones, where curves are steep; and signal efficiencies. From 0 and 0.01 to 1.
const std::vector<double>& band_fprs();
const std::vector<double>& band_tprs();

struct RocBand {
  std::vector<Estimate> tpr;        // at band_fprs(): the highest that passes no more background
  std::vector<Estimate> rejection;  // 1 / fpr at band_tprs(), as RankFigures have it
};

/// Its values, one after the other; NaN where a class has no events.
std::vector<double> band_values(const Ranking& ranking, Weights weights);
/// Their estimates as a band.
RocBand band_of(std::span<const Estimate> estimates);

}  // namespace linac::scores
