#include "linac/cli/control/verbs.h"

namespace linac::cli {

void add_control_verbs(CLI::App& app) {
  add_serve_verb(app);
  add_submit_verb(app);
  add_status_verb(app);
  add_list_verb(app);
  add_logs_verb(app);
  add_cancel_verb(app);
  add_resume_verb(app);
  add_artifacts_verb(app);
  add_experiments_verb(app);
  add_ingest_verb(app);
  add_secrets_verb(app);
  add_login_verb(app);
  add_agent_verb(app);
  add_agents_verb(app);
  add_sites_verb(app);
  add_launch_verb(app);
  add_spawn_verb(app);
  add_tune_verb(app);
  add_study_verb(app);
  add_help_verb(app);
  add_supervise_verb(app);
}

}  // namespace linac::cli
