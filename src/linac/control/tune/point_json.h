#pragma once
// Points as others see them: objects by parameter names, with numbers and the texts of choices. Pure, thread-safe.

#include <nlohmann/json_fwd.hpp>

#include "linac/control/tune/space.h"

namespace linac::tune {

/// Inactive parameters are left out.
nlohmann::json to_json(const Space& space, const Point& point);
/// The way back, bit for bit. User error for a name or a value that the space does not have.
Point point_from_json(const Space& space, const nlohmann::json& values);
/// The same of a point that the space itself could suggest: each active parameter has a value of its range and on its
/// steps, the others have none, and all constraints hold. User error naming the parameter that is not so.
Point suggestible_point_from_json(const Space& space, const nlohmann::json& values);

/// A number, or "nan", "inf", "-inf" (also as NaN, Infinity): JSON has no other way to say it. User error for anything
/// else.
double number_from_json(const nlohmann::json& value);
nlohmann::json number_to_json(double value);

}  // namespace linac::tune
