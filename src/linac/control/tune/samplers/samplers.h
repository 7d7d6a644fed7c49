#pragma once
// The samplers behind the table (table.cpp), a file each.

#include <memory>

#include "linac/control/tune/sampler.h"

namespace linac::tune {

/// Uniform over the unit cube.
std::unique_ptr<Sampler> make_random(const SamplerSettings& settings);
/// All points of the product of the parameters' values, in an order mixed by the seed; a continuous parameter has ten.
/// Behind the last of them, points at random.
std::unique_ptr<Sampler> make_grid(const SamplerSettings& settings);
/// Trial k is point k of a scrambled Sobol sequence.
std::unique_ptr<Sampler> make_sobol(const SamplerSettings& settings);
std::unique_ptr<Sampler> make_tpe(const SamplerSettings& settings);
std::unique_ptr<Sampler> make_cma_es(const SamplerSettings& settings);
std::unique_ptr<Sampler> make_gaussian_process(const SamplerSettings& settings);
std::unique_ptr<Sampler> make_eipu(const SamplerSettings& settings);
std::unique_ptr<Sampler> make_ehvi(const SamplerSettings& settings);
std::unique_ptr<Sampler> make_nsga2(const SamplerSettings& settings);
std::unique_ptr<Sampler> make_nsga3(const SamplerSettings& settings);

}  // namespace linac::tune
