#pragma once
// What a share of few events is known to. Pure, thread-safe.

#include "linac/base/base/range.h"

namespace linac {

/// The interval of one standard deviation around a share of `events` (of weighted ones as many as they are worth), by
/// E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209. It is longer towards 1/2, stays within 0 and 1, and is not empty
/// where none or all of the events are in. All of [0, 1] without events.
Range share_interval(double share, double events);

}  // namespace linac
