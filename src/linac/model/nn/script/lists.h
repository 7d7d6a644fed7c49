#pragma once
// Lists and tuples that hold something of the events, as forward() makes them and takes them apart. Used by one thread.

#include <optional>
#include <string_view>
#include <vector>

#include "linac/model/nn/script/script_value.h"

namespace linac::nn::script {

std::vector<ScriptValue> elements_of(const ScriptValue& list_or_tuple);

/// What the operator makes of `inputs`; nothing if it is none of lists, or its list holds constants alone. Appending
/// changes the list that is given. User error for a place that depends on the events, or that the list does not have.
std::optional<ScriptValue> of_lists(std::string_view name, const std::vector<ScriptValue>& inputs);

}  // namespace linac::nn::script
