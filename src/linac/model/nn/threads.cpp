#include "linac/model/nn/threads.h"

#include <ATen/Parallel.h>

#include <memory>

#include "linac/base/base/thread_team.h"

namespace linac::nn {

kernels::Parallel threads() {
  const int count = at::get_num_threads();
  if (count == 1) return kernels::serially;
  thread_local std::unique_ptr<ThreadTeam> team;
  if (team == nullptr || team->threads() != count) team = std::make_unique<ThreadTeam>(count);
  return [threads = team.get()](int64_t tasks, const std::function<void(int64_t)>& task) { threads->run(tasks, task); };
}

}  // namespace linac::nn
