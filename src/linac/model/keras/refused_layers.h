#pragma once
// What to do about a layer that linac does not have. Pure, thread-safe.

#include <string>

namespace linac::keras {

/// For a message: why linac has no layer of this class, the nearest class that it has, if one is near, and what to do.
std::string advice_on_layer(const std::string& class_name);

}  // namespace linac::keras
