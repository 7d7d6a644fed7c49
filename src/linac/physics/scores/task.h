#pragma once
// What an output of a model tells of an event. Pure, thread-safe.

#include <optional>
#include <string_view>

namespace linac::scores {

enum class Task {
  kClasses,     // to which of several classes it belongs
  kLabels,      // which of several labels it has, any number of them
  kRegression,  // numbers
};

/// "classification", "labels", "regression".
const char* to_string(Task task);
/// "classes" is classification, too.
std::optional<Task> task_named(std::string_view name);

}  // namespace linac::scores
