#include "linac/physics/scores/task.h"

namespace linac::scores {

const char* to_string(Task task) {
  switch (task) {
    case Task::kClasses:
      return "classification";
    case Task::kLabels:
      return "labels";
    case Task::kRegression:
      return "regression";
  }
  return "";
}

std::optional<Task> task_named(std::string_view name) {
  if (name == "classes") return Task::kClasses;
  for (const Task task : {Task::kClasses, Task::kLabels, Task::kRegression})
    if (name == to_string(task)) return task;
  return std::nullopt;
}

}  // namespace linac::scores
