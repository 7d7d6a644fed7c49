#pragma once
// How the losses went, epoch by epoch. Thread-safe.

#include <filesystem>
#include <string>
#include <vector>

#include "linac/plot/figure.h"

namespace linac::plot {

/// One value an epoch, from the first; NaN where there is none. May be empty.
struct LossHistory {
  std::vector<double> d_real, d_fake, g;  // discriminator on real and on generated showers, generator
};

/// Two charts side by side: the discriminator's losses and the generator's; whole lines in training, dashed in tests.
/// Logarithmic where the values span more than a power of ten and a half.
Picture draw_losses(const std::string& title, const LossHistory& train, const LossHistory& test);

/// The same, written to a file too (environment error if that fails).
Picture write_loss_png(const std::filesystem::path& path, const std::string& title, const LossHistory& train,
                       const LossHistory& test);

}  // namespace linac::plot
