#include "linac/control/sites/panda/payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "linac/base/base/amounts.h"
#include "linac/base/base/base64.h"
#include "linac/base/base/error.h"
#include "linac/base/base/gzip.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/job.h"
#include "linac/base/job/job_paths.h"
#include "linac/base/plan/prices.h"
#include "linac/control/sites/scripts.h"
#include "linac/io/storage/rucio/did.h"

namespace linac::sites {
namespace {

constexpr const char* kCvmfs = "/cvmfs/";  // which all sites of a grid see

constexpr uintmax_t kScalingBytesMax = 32 << 10;

// What this host has, and a job of a grid has not.
bool is_of_this_host(const std::string& file) {
  return !file.empty() && file.find("://") == std::string::npos && !file.starts_with(kCvmfs);
}

bool is_rucio(const std::string& file) {
  return file.starts_with("rucio://");
}

std::string data_set(const std::string& url, const std::string& place) {
  const storage::rucio::Did did = storage::rucio::parse_did(url);
  if (!did.rse.empty())
    throw user_error(fmt::format("{}: {}: PanDA chooses from where it is read; leave ?rse= out, or set sites", place,
                                 printable(url)));
  const std::string name = did.scope + ":" + did.name;
  if (name.find_first_of(",^#\"'") != std::string::npos)
    throw user_error(fmt::format("{}: {}: PanDA takes no such name", place, printable(url)));
  return name;
}

// From PanDA's file of the user's secrets, which lies in the job's folder or in the one above.
std::string secrets_script(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text =
      "secret() {\n"
      "  for file in panda_secrets.json ../panda_secrets.json; do\n"
      "    [ -r \"$file\" ] || continue\n"
      "    grep -o \"\\\"$1\\\" *: *\\\"[^\\\"\\\\\\\\]*\\\"\" \"$file\" | head -n 1 | sed 's/^[^:]*: *\"//; s/\"$//'\n"
      "    return\n"
      "  done\n"
      "}\n";
  for (const std::string& name : names)
    text += fmt::format(
        "{0}=$(secret {0})\n"
        "[ -n \"${0}\" ] || {{ echo 'linac: PanDA has no secret {0} of yours; pbook set_secret {0} VALUE' >&2; exit 2; "
        "}}\n"
        "export {0}\n",
        name);
  return text;
}

std::string program_script(const PandaSettings& settings) {
  if (settings.archive.empty()) return fmt::format("program={}\n", shell_word(settings.program));
  return "for program in \"$PWD\"/linac*/bin/linac; do :; done\n"
         "[ -x \"$program\" ] || { echo 'linac: the archive has no linac*/bin/linac; name what make dist has made' "
         ">&2; "
         "exit 2; }\n";
}

// Number `n` of the arguments as a list of the job's language. A job that has as many files as it may have cannot know
// whether these are all.
std::string input_script(const PandaInput& input, size_t n, int files_max) {
  return fmt::format(
      "files=$(printf '%s\\n' \"${0}\" | tr ',' '\\n' | grep -c .)\n"
      "[ \"$files\" -gt 0 ] || {{ echo 'linac: PanDA has brought no file of {1}' >&2; exit 3; }}\n"
      "[ \"$files\" -lt {2} ] || {{ echo 'linac: {1} has {2} files or more, and it is not known whether these are all; "
      "set files of the site higher' >&2; exit 3; }}\n"
      "list{0}=[$(printf '%s' \"${0}\" | sed \"s#[^,][^,]*#\\\"$PWD/&\\\"#g\")]\n",
      n, input.key, files_max);
}

std::string limit_words(int64_t seconds) {
  return seconds == 0 ? "" : fmt::format("timeout --preserve-status --signal=TERM {} ", seconds);
}

std::string agent_script(const PandaSettings& settings, int64_t seconds) {
  std::string command = fmt::format("\"$program\" agent --server {} --token-file token --folder agent --idle-exit {}",
                                    shell_word(settings.agents), shell_word(settings.idle));
  if (seconds > 0) command += fmt::format(" --time {}s", seconds);
  double price = settings.plan.price;
  if (price <= 0 && !settings.plan.machine.empty()) {
    const plan::Book book = plan::read_book();
    if (const auto* known = book.price(settings.plan.machine, plan::Market::kOnDemand, settings.plan.region))
      price = known->usd_per_hour;
  }
  if (price > 0) command += fmt::format(" --price {}", price);
  return "umask 077\nprintf '%s\\n' \"$LINAC_AGENT_TOKEN\" >token\nunset LINAC_AGENT_TOKEN\n" + command +
         "\nstatus=$?\n";
}

// The job's constants of scaling, where a file of this host has them.
std::string scaling_script(const Launch& launch, const std::string& place) {
  const std::string file = job::parse_job(launch.job, "job.yaml", {}).data.scaling;
  if (!is_of_this_host(file)) return "";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) > kScalingBytesMax ||
      error)
    throw user_error(
        fmt::format("{}: data.scaling: {} is no file of at most {} KiB, which would go with the task; "
                    "name a URL",
                    place, printable(file), kScalingBytesMax >> 10));
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return fmt::format("echo {} | base64 -d > scaling.json || exit 4\n", base64(text));
}

std::string train_script(const Launch& launch, const std::vector<PandaInput>& inputs, int files_max, int64_t seconds,
                         const std::string& place) {
  std::string text = write_file_script("job.yaml", launch.job), sets;
  if (const std::string scaling = scaling_script(launch, place); !scaling.empty()) {
    text += scaling;
    sets += " --set \"data.scaling=$PWD/scaling.json\"";
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += input_script(inputs[i], i + 1, files_max);
    sets += fmt::format(" --set \"{}=$list{}\"", inputs[i].key, i + 1);
  }
  const std::string output = panda_output(launch);
  // The pilot's signal goes to this shell: the workers write a checkpoint, and are waited for.
  text += fmt::format(
      "{}\"$program\" train job.yaml --out {} --resume-or-start --workers {}{} &\n"
      "workers=$!\n"
      "trap 'kill -TERM \"$workers\" 2>/dev/null' TERM INT XCPU\n"
      "wait \"$workers\"; status=$?\n"
      "while kill -0 \"$workers\" 2>/dev/null; do wait \"$workers\"; status=$?; done\n",
      limit_words(seconds), shell_word(output.empty() ? launch.out : "run"), workers_word(launch), sets);
  if (!output.empty()) text += fmt::format("[ $status != 0 ] || tar -czf {} -C run . || status=4\n", output);
  return text;
}

}  // namespace

std::vector<PandaInput> panda_inputs(const Launch& launch, const std::string& place) {
  std::vector<PandaInput> inputs;
  if (launch.agents) return inputs;
  job::Job job = job::parse_job(launch.job, "job.yaml", {});
  for (const auto& [stream, key, files] :
       {std::tuple{"IN", "data.train", &job.data.train}, {"TEST", "data.test", &job.data.test}}) {
    const auto count = std::count_if(files->begin(), files->end(), is_rucio);
    if (count == 0) continue;
    if (count != static_cast<std::ptrdiff_t>(files->size()))
      throw user_error(fmt::format("{}: {}: PanDA brings all of them or none; make all of them rucio://", place, key));
    PandaInput input{inputs.empty() ? "IN" : stream, key, {}};
    for (const std::string& file : *files) input.names.push_back(data_set(file, place));
    inputs.push_back(std::move(input));
  }
  for (const std::string* file : job::files_of(job)) {
    if (!is_of_this_host(*file) || file == &job.data.scaling) continue;
    throw user_error(fmt::format(
        "{}: {}: no job of a grid sees that; publish it (`linac data copy`) and name rucio://SCOPE:NAME, or a URL",
        place, printable(*file)));
  }
  return inputs;
}

std::string panda_output(const Launch& launch) {
  return launch.agents || launch.out.starts_with("s3://") ? "" : kPandaOutput;
}

std::string panda_script(const PandaSettings& settings, const Launch& launch, const std::vector<PandaInput>& inputs,
                         const std::string& place) {
  const int64_t seconds = launch.seconds_max > 0  ? launch.seconds_max
                          : settings.time.empty() ? 0
                                                  : seconds_of("time", settings.time);
  std::vector<std::string> secrets = settings.secrets;
  if (launch.agents && std::find(secrets.begin(), secrets.end(), "LINAC_AGENT_TOKEN") == secrets.end())
    secrets.push_back("LINAC_AGENT_TOKEN");
  return "#!/bin/sh\n" + program_script(settings) + secrets_script(secrets) + environment_script(settings) +
         (launch.agents ? agent_script(settings, seconds)
                        : train_script(launch, inputs, settings.files, seconds, place)) +
         "exit $status\n";
}

std::string panda_command(const std::string& script, const std::vector<PandaInput>& inputs) {
  // As base64: neither PanDA's placeholders (%IN, ${...}) nor any quoting changes what the script says. Short: what
  // looks for placeholders in it takes a time that grows with its square.
  std::string command = fmt::format("echo {} | base64 -d | gzip -d > linac.sh && sh linac.sh", base64(gzip(script)));
  for (const PandaInput& input : inputs) command += fmt::format(" \"%{}\"", input.stream);
  return command;
}

}  // namespace linac::sites
