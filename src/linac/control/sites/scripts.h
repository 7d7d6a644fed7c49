#pragma once
// What the scripts of all kinds of sites have in common: POSIX shell that is written for one launch. Texts of others
// are quoted wherever they stand. Pure, thread-safe.
//
// A launch's files are in FOLDER/LABEL/launch, a folder that its owner alone can read:
//   job.yaml   the job      worker.sh  one worker     ends/  exit statuses of workers      cancelled  somebody stopped
//   it private/key the key of the workers               what else the kind needs, and a script (script/script_files.h)

#include <string>
#include <vector>

#include "linac/control/sites/shell.h"
#include "linac/control/sites/site.h"

namespace linac::sites {

/// FOLDER/LABEL/launch
std::string launch_folder(const std::string& folder, const std::string& label);

/// Makes the launch's folder and goes there. What is made from then on is for its owner alone; `umask "$mask"` brings
/// back what was before. Fails the script where somebody else has made it before, or a link: he could change what is
/// started.
std::string make_folder_script(const std::string& folder, const std::string& label);

/// Goes there, or does `otherwise` and ends the script with status 0 where it is not, or not ours.
std::string enter_folder_script(const std::string& folder, const std::string& label, const std::string& otherwise);

/// Fails the script where the folder has another job: a name that was given from another host, or long ago.
std::string same_job_script(const Launch& launch);

/// A function for scripts: `holds LOCK-FILE GROUP`, whether a process of that group has the file as its descriptor 9.
/// A number in a file may be another's by now, or of another host; this is not.
std::string holds_function();

/// `printf ... > FILE.part && mv`: the file is whole or not there. Fails the script (exit status 4) if it cannot be
/// written.
std::string write_file_script(const std::string& path, const std::string& text);

/// `export NAME='value'` for the site's variables, and its lines of setup.
std::string environment_script(const CommonSettings& settings);

/// worker.sh ATTEMPT-NUMBER: does `command` with `lines` of shell before it, and leaves its exit status in ends/.
/// Signals to its group reach the command, which it outlives.
std::string worker_lines(const CommonSettings& settings, const Launch& launch, const std::string& lines,
                         const std::string& command);
/// The same that trains, by `program`. `before`: what the program is started with.
std::string worker_script(const CommonSettings& settings, const std::string& program, const Launch& launch,
                          const std::string& workers, const std::vector<std::string>& before = {});

/// A function for scripts: `end_of_run ATTEMPT` prints what the ends of its workers mean together: 0 if one reached the
/// end of the run, else 75 if one was stopped, else the first failure; nothing if there are none.
std::string end_of_run_function();
/// The same of statuses that several hosts have told; -1 for none.
int end_of_run(const std::vector<int>& statuses);

/// The number that a script has told; -1 if it has told none.
int status_in(const std::string& text);

/// Whether workers who see the launch's folder find the key of the run in it: they do not share that of the run, or are
/// scripts.
bool needs_key(const Launch& launch);

/// A function for scripts: `run COMMAND`, to its end and into `status`. Meanwhile `child` is its number, for traps, and
/// the script's function `watch CHILD` runs beside it. `if_stopped`: what is done in its place once `stopped` is set.
std::string run_function(const std::string& if_stopped);

/// A function for scripts of Linux with bash: `goes_on`, whether workers of the run in the folder $out answer.
std::string goes_on_function();

/// As the option --workers has it, "2:4" or "4".
std::string workers_word(const Launch& launch);

/// Writes what a script needs beside its job; nothing for a launch of linac.
std::string write_script_files(const Launch& launch);
/// The same for people.
std::vector<PlannedStep> planned_script_files(const Launch& launch, const std::string& folder);
/// Writes what a script has written as an archive (tar) to its output.
std::string pack_script(const Record& record);
/// Removes the launch's folder, but not the run's.
std::string remove_script(const Record& record);
/// "linac: why WORDS", where workers of a script have said why they failed.
std::string why_script();

/// What an exit status of a run is as a state.
Standing standing_of_end(int status, bool cancelled);

/// What program (if it has one), folder and job's files look like there; says "linac: ok WHAT TEXT", "linac: doubtful
/// WHAT TEXT" and "linac: bad WHAT TEXT".
std::string check_script(const CommonSettings& settings, const job::Job* job);
/// What such a script finds; that the place cannot be reached is a finding too.
std::vector<Finding> findings_at(const Shell& there, const std::string& what, const std::string& script);

/// From byte `from` of a file on, at most 1 MiB.
std::string log_script(const std::string& path, int64_t from);

}  // namespace linac::sites
