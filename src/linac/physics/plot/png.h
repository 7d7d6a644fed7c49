#pragma once
// Pictures as PNG. Thread-safe.

#include <cstdint>
#include <string>

namespace linac::plot {

/// Opaque pixels as 0x00RRGGBB in the order of bytes of this machine, rows of `stride` bytes from the top. Without
/// filters: flat areas and thin lines, as in charts, pack better and in half the time. Environment error if there is no
/// memory.
std::string to_png(const unsigned char* pixels, int width, int height, int stride);

}  // namespace linac::plot
