#include "linac/cli/compute/job_file.h"

#include "linac/base/job/job.h"
#include "linac/base/job/secret_names.h"
#include "linac/cli/compute/named_model.h"
#include "linac/train/trained/start.h"

namespace linac::cli {

trained::CompiledJob whole_job(const std::string& file, const std::vector<std::string>& overrides) {
  job::Job job = job::read_job(file, overrides);
  job::need_in_environment(job.secrets);
  if (job::ModelFile* model = job.model.file(); model != nullptr && !model->from.empty())
    model->file = named_model(model->from, &model->from);
  return trained::with_compiled(trained::with_start(std::move(job)));
}

}  // namespace linac::cli
