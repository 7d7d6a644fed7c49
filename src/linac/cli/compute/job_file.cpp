#include "linac/cli/compute/job_file.h"

#include "linac/client/model_catalog.h"
#include "linac/spec/job.h"
#include "linac/spec/secret_names.h"
#include "linac/trained/start.h"

namespace linac::cli {

trained::CompiledJob whole_job(const std::string& file, const std::vector<std::string>& overrides) {
  spec::Job job = spec::read_job(file, overrides);
  spec::need_in_environment(job.secrets);
  if (spec::ModelFile* model = job.model.file(); model != nullptr && !model->from.empty())
    model->file = client::local_model(model->from, &model->from);
  return trained::with_compiled(trained::with_start(std::move(job)));
}

}  // namespace linac::cli
