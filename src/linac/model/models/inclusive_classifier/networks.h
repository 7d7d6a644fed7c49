#pragma once
// The Inclusive Classifier and its siblings as graphs (Nguyen et al., "Topology classification with deep learning to
// improve real-time event selection at the LHC", Comput. Softw. Big Sci. 3 (2019) 12, arXiv:1807.00083). Pure
// functions.

#include "linac/base/job/model_kinds.h"
#include "linac/model/graph/graph.h"

namespace linac::models::inclusive_classifier {

/// Numbers a particle, high-level numbers an event, and classes (QCD, ttbar, W+jets).
inline constexpr int64_t kParticleFeatures = 19, kEventFeatures = 14, kClasses = 3;

/// Inputs "GRU_input" (particles, 19), rows of zeros at the end count as none, and "HLF_input" (14); output "label"
/// (3), probabilities. The variants "gru" and "lstm" read both; "hlf" the high-level numbers alone, "particles" and
/// "transformer" the particles alone. Other names are a broken invariant (the job has been checked).
graph::Graph network(const job::InclusiveClassifierSettings& settings);

}  // namespace linac::models::inclusive_classifier
