#pragma once
// How alike pictures of showers are, to notice a generator that makes few different ones or repeats its training set.
// Pure, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "linac/physics/physics/projections.h"

namespace linac::physics {

/// Mean structural similarity of two pictures [rows][columns] of values in [0, 1], with an even window of 7 x 7
/// (Wang, Bovik, Sheikh, Simoncelli, IEEE Trans. Image Process. 13 (2004) 600; window, borders and unbiased variances
/// as in scikit-image). 1 for equal pictures. A side shorter than 7 is a window's side.
double structural_similarity(std::span<const float> a, std::span<const float> b, int64_t rows, int64_t columns);

/// The shower from the side, [y][z], scaled so that structural_similarity() sees core and halo: (energy / largest)^1/4.
std::vector<float> side_picture(const Projections& maps);

/// What nearest neighbours are measured in: the square roots of the energy fractions in xz and yz, one after the other.
/// Their Euclidean distance is 0 for equal showers and 2 at most.
std::vector<float> shape_vector(const Projections& maps);

/// For each row of `queries` [n][length] the distance to the nearest row of `points` [m][length].
enum class Same { kNo, kYes };  // kYes: queries are the points, and a row is not its own neighbour
std::vector<float> nearest_distances(std::span<const float> queries, std::span<const float> points, int64_t length,
                                     Same same);

}  // namespace linac::physics
