#pragma once
// A view as what it changes of another one, for receivers that have that one: of hundreds of members most stay, with
// the same moment and share, and take no more than a range of ranks. Values only.

#include <nlohmann/json.hpp>

#include "linac/train/comm/membership/view.h"

namespace linac::comm {

nlohmann::json change_of(const View& base, const View& next);
/// The view that change_of(base, next) was made from. Throws std::exception for anything else, another base's change
/// among it. At most as many members as `base` has and `change` spells out.
View changed(const View& base, const nlohmann::json& change);

}  // namespace linac::comm
