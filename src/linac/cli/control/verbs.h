#pragma once
// The verbs of the control plane, one file each (cancel.cpp has resume, too): they speak to a service, or are one, or
// bring jobs to other systems, and compute nothing. A verb adds its options to the parser and runs in its callback; it
// reports failure by throwing.

#include <CLI/CLI.hpp>

namespace linac::cli {

void add_serve_verb(CLI::App& app);
void add_submit_verb(CLI::App& app);
void add_status_verb(CLI::App& app);
void add_list_verb(CLI::App& app);
void add_logs_verb(CLI::App& app);
void add_cancel_verb(CLI::App& app);
void add_resume_verb(CLI::App& app);
void add_artifacts_verb(CLI::App& app);
void add_experiments_verb(CLI::App& app);
void add_ingest_verb(CLI::App& app);
void add_secrets_verb(CLI::App& app);
void add_login_verb(CLI::App& app);
void add_agent_verb(CLI::App& app);
void add_agents_verb(CLI::App& app);
void add_sites_verb(CLI::App& app);
void add_launch_verb(CLI::App& app);
void add_spawn_verb(CLI::App& app);
void add_tune_verb(CLI::App& app);
void add_study_verb(CLI::App& app);
void add_help_verb(CLI::App& app);
void add_supervise_verb(CLI::App& app);

/// All of them, in the order of their help.
void add_control_verbs(CLI::App& app);

}  // namespace linac::cli
