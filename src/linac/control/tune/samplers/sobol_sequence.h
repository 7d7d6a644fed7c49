#pragma once
// A scrambled Sobol sequence: Boost's directions (Joe and Kuo, SIAM J. Sci. Comput. 30, 2008), scrambled as Owen's
// nested uniform scrambling does (Owen, J. Complexity 14, 1998) by a hash (Laine and Karras 2011, with the constants of
// Burley, J. Computer Graphics Techniques 9, 2020). Of the first 2^k points each interval of a size 2^-k has one, in
// every dimension and for every seed. Pure, thread-safe.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace linac::tune {

/// Point `index` in (0, 1)^dimensions. `sequence`: a seed has many that are scrambled differently.
std::vector<double> sobol_point(uint64_t seed, uint64_t index, size_t dimensions, uint32_t sequence = 0);

/// Points 0 ... count-1, one after the other.
std::vector<double> sobol_points(uint64_t seed, uint64_t count, size_t dimensions, uint32_t sequence = 0);

}  // namespace linac::tune
