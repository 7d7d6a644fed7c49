#pragma once
// To which part of a split an event belongs. It follows from the values of its key alone, so it stays when files are
// added, left out or put in another order:
//
//   hash   XXH3 of the key's values as float64, little endian, one after the other (-0 as 0), 64 bits
//   u      its upper 53 bits, as a number in [0, 1)
//   part   test if u >= 1 - test, else validation if u >= 1 - test - validation, else train
//   fold   where there are folds, in place of the validation's share: 1 + floor(folds * u / (1 - test)) of what is not
//          test; the chosen one is the validation, the others train
//
// So the test part stays when the share of the validation changes, and is in no fold. Never change this: models
// remember their split. Pure, thread-safe.

#include <span>

#include "linac/io/data/transform/transform.h"

namespace linac::data {

/// In [0, 1).
double place_of_key(std::span<const double> values);

/// Of a rule with folds: from 1 on; 0: test.
int fold_of(double place, const SplitRule& rule);

Part part_of(double place, const SplitRule& rule);

}  // namespace linac::data
