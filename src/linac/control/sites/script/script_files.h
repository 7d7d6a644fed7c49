#pragma once
// What a script is at a place: the files beside its job, the worker that starts it, and the question whether it can
// begin. Texts for a shell quote what is the user's. Pure, thread-safe.
//
// The programs of the folder worker/ come with it: the place needs Python 3.6 or newer, and nothing else.

#include <string>
#include <string_view>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

struct ScriptFile {
  std::string path;  // within the launch's folder; "script/..." is what the script sees of it
  std::string text;
  bool secret = false;
  std::string shown;  // in its place, for people
};
/// None for a launch of linac itself.
std::vector<ScriptFile> script_files(const Launch& launch);

/// job.yaml of such a launch: what its workers have to know. It is JSON, and has no secret.
std::string script_job(const Script& script);

/// Its workers, those of all kinds.
int tasks_of(const Script& script);

/// worker.sh, which takes its place among the workers from variables; `lines`: more of these, by the kind of site.
std::string script_worker(const CommonSettings& settings, const Launch& launch, const std::string& lines,
                          const std::vector<std::string>& before = {});

enum class ScriptCheck {
  kAll,     // this host will run it
  kBegin,   // one like this will, but it is not for work of its own
  kSyntax,  // another one will
};
/// Whether it is Python and what it imports is there; tried with its argument for that. For findings_at().
std::string check_script_script(const CommonSettings& settings, const Script& script, ScriptCheck which);

/// The same on this host, for a place that cannot be asked: its Python and packages may be others. A trial only where
/// what the script imports is here.
std::vector<Finding> check_script_here(const Launch& launch);

/// What an end is for a script; `why`: what its workers said, "" for nothing.
void tell_of_script(Standing& standing, const std::string& why);

/// A program of the folder worker/.
struct PythonText {
  const char* name;
  std::string_view text;
};
const std::vector<PythonText>& python_texts();

}  // namespace linac::sites
