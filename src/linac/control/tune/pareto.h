#pragma once
// Several losses at once: what is better than what, and how much a set of points covers. A row is a point's losses,
// less is better, all finite and of one length. Pure, thread-safe.

#include <cstddef>
#include <span>
#include <vector>

namespace linac::tune {

using Losses = std::vector<double>;

/// No loss of `one` is more than that of `other`, and one is less.
bool dominates(std::span<const double> one, std::span<const double> other);

/// Of each row its front: 0 is dominated by none, 1 by points of front 0 alone, ... Rows that are equal share a front.
/// Efficient non-dominated sort (Zhang, Tian, Cheng and Jin, IEEE Trans. Evol. Comput. 19, 2015).
std::vector<size_t> fronts_of(const std::vector<Losses>& rows);

/// How far a row's neighbours along each loss lie apart, in shares of the range, added up; the ends: infinity. (Deb,
/// Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm: NSGA-II", IEEE Trans. Evol.
/// Comput. 6, 2002, section III B.)
std::vector<double> crowding_of(const std::vector<Losses>& rows);

/// The volume of what the rows dominate and `reference` bounds; a row that does not lie before it in every loss adds
/// nothing. Exact, by slices: n log n for two losses, n^2 log n for three, a power of n more for each further one.
double hypervolume(const std::vector<Losses>& rows, std::span<const double> reference);

/// The rows scaled to 0 ... 1 in each loss, whatever numbers they are; 0.5 where all are equal.
std::vector<Losses> scaled(const std::vector<Losses>& rows);

/// Positions of `count` rows (or all): each is the one that adds most to the hypervolume of those before it, the
/// reference being 1.1 times the range; an end of the front comes early. (Greedy choice is within 1 - 1/e of the best
/// set: Guerreiro, Fonseca and Paquete, Evol. Comput. 24, 2016.)
std::vector<size_t> greedy_cover(const std::vector<Losses>& rows, size_t count);

}  // namespace linac::tune
