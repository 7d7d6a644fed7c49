#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/signals.h"
#include "linac/base/job/branch.h"
#include "linac/base/job/job.h"
#include "linac/base/job/run_states.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/cli/compute/job_file.h"
#include "linac/cli/compute/verbs.h"
#include "linac/control/client/login.h"
#include "linac/control/client/tracker.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"
#include "linac/model/models/torch_threads.h"
#include "linac/train/comm/c10d/c10d_store.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/comm/membership/view_ledger.h"
#include "linac/train/comm/transport/listeners.h"
#include "linac/train/devices/gpus_of_worker.h"
#include "linac/train/devices/host_device_group.h"
#include "linac/train/train/input/input.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/train/record/run_mirror.h"
#include "linac/train/train/trainer.h"
#include "linac/train/trained/checkpoint_files.h"
#include "linac/train/trained/run_models.h"
#include "linac/train/workers/local_launch.h"
#include "linac/train/workers/worker_error.h"

namespace linac::cli {
namespace {

struct TrainOptions {
  std::string job, out, workers, join, listen, server, experiment, branch;
  std::string mirrored;  // of a launched worker: the URL where somebody else keeps its folder
  bool resume = false, launched = false, track = false, take_over = false;
  std::vector<std::string> overrides;
};

// From where the relative paths of the run's job.yaml count. Whoever joins a run has its job from there.
std::filesystem::path started_in(const TrainOptions& options) {
  std::filesystem::path there;
  if (std::filesystem::is_directory(options.join)) there = trained::started_in(options.join);
  return there.empty() ? std::filesystem::current_path() : there;
}

// Whoever has its job from the run's folder works where the run was started: the job, which checkpoints hold, stays as
// it is written there. On another host that folder may not be there; then its paths count from this one.
TrainOptions where_the_run_was_started(TrainOptions options) {
  if (!options.job.empty() || !std::filesystem::is_directory(options.join)) return options;
  options.join = std::filesystem::absolute(options.join).string();
  std::error_code not_there;
  std::filesystem::current_path(started_in(options), not_there);
  return options;
}

trained::CompiledJob job_of(const TrainOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  // "2:8": eight, at least two.
  const size_t colon = options.workers.find(':');
  const bool range = colon != std::string::npos;
  if (!options.workers.empty()) overrides.push_back("workers=" + options.workers.substr(range ? colon + 1 : 0));
  if (range) overrides.push_back("distribution.workers_min=" + options.workers.substr(0, colon));
  const bool in_folder = options.job.empty();
  if (in_folder && !std::filesystem::is_directory(options.join))
    throw user_error("[train] no job file; give one, or the folder of the run to join with --join");
  return whole_job(
      in_folder ? (std::filesystem::path(options.join) / "job.yaml").string() : storage::local_copy(options.job),
      overrides);
}

// "4" or "2:4"; what is wrong, or "".
std::string is_worker_range(const std::string& text) {
  const size_t colon = text.find(':');
  const auto number = [](std::string_view digits) {
    int value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return status == std::errc{} && end == digits.data() + digits.size() && value <= comm::kMaxWorldSize ? value : 0;
  };
  const std::string_view view = text;
  const int most = number(view.substr(colon == std::string::npos ? 0 : colon + 1));
  const int least = colon == std::string::npos ? 1 : number(view.substr(0, colon));
  if (least >= 1 && least <= most) return "";
  return fmt::format("'{}' is no number of workers; expected N or MIN:MAX from 1 to {}", text, comm::kMaxWorldSize);
}

// runs/NAME-20260131-140509; with --resume the newest run of that name.
std::filesystem::path default_folder(const job::Job& job, bool resume) {
  const std::filesystem::path runs = "runs";
  std::filesystem::path newest;
  if (resume && std::filesystem::is_directory(runs)) {
    for (const auto& entry : std::filesystem::directory_iterator(runs)) {
      if (entry.path().filename().string().starts_with(job.name + "-")) newest = std::max(newest, entry.path());
    }
  }
  return newest.empty() ? runs / fmt::format("{}-{:%Y%m%d-%H%M%S}", job.name, fmt::localtime(std::time(nullptr)))
                        : newest;
}

// The same file has another relative path where the run is resumed from another folder.
void forget_folders(job::Job& then, job::Job now) {
  const std::vector<std::string*> old_files = job::files_of(then), new_files = job::files_of(now);
  if (old_files.size() != new_files.size()) return;
  for (size_t i = 0; i < old_files.size(); ++i)
    if (job::may_be_one_file(*old_files[i], *new_files[i])) *old_files[i] = *new_files[i];
}

// A resumed run goes on with the same mathematics; what is free to change is reset before the comparison.
void need_same_numerics(const job::Job& now, job::Job then, const std::string& folder) {
  forget_folders(then, now);
  std::istringstream new_lines(job::to_yaml(job::without_free_settings(now))),
      old_lines(job::to_yaml(job::without_free_settings(std::move(then))));
  std::string new_line, old_line;
  while (std::getline(new_lines, new_line) && std::getline(old_lines, old_line)) {
    if (new_line == old_line) continue;
    const auto trim = [](const std::string& line) {
      return line.substr(std::min(line.size(), line.find_first_not_of(' ')));
    };
    const bool rate = trim(old_line).starts_with("lr: ");
    throw user_error(fmt::format(
        "[train] --resume: the run in {} was made with '{}', the job now says '{}'; resume with the same job, or "
        "start a new run with another --out{}",
        folder, trim(old_line), trim(new_line),
        rate ? " (a rate that changes on the way is part of the job from its beginning: train.schedule.drops, decay or "
               "plateau; a new run goes on from this one with another rate by --branch; a 3dgan takes the weights of "
               "this run into a new one with model.from, a Keras model with "
               "model.file)"
             : ""));
  }
}

// `name`: what people call it.
void prepare_folder(const job::Job& job, const std::filesystem::path& path, const std::string& name, bool resume) {
  train::RunFolder folder(path);
  if (folder.holds_run()) {
    if (!resume) {
      throw user_error(
          fmt::format("[train] {} already holds a run; add --resume to go on with it or choose another --out", name));
    }
    need_same_numerics(job, folder.job(), name);
  }
  folder.create(job);
  std::filesystem::remove_all(folder.views());  // of workers that are no more
}

// A new run that begins with the newest state of another one; job.yaml, which comes after it, says that it is there.
void branch_off(const job::Job& job, const std::filesystem::path& from, const std::filesystem::path& to) {
  const train::RunFolder source(from), folder(to);
  if (folder.holds_run()) return;  // refused by prepare_folder()
  job::Job then = source.job();
  forget_folders(then, job);
  job::need_branch(then, job, fmt::format("[train] --branch {}", from.string()),
                   "start a new run without --branch, or with the other run's value");
  const auto checkpoints = trained::list_checkpoints(source.checkpoints());
  if (checkpoints.empty())
    throw user_error(fmt::format("[train] --branch {}: the run has no checkpoint yet", from.string()));
  const auto whole = [&](const std::filesystem::path& file) {
    if (!std::filesystem::is_regular_file(file))  // a pipe would never end
      throw user_error(fmt::format("[train] --branch {}: {} is no file", from.string(), file.string()));
    std::string bytes = read_file(file);
    weights::decode_tensors(bytes, file.string());  // or the new folder begins with what nobody can read
    return bytes;
  };
  const std::filesystem::path newest = checkpoints.back(), best = trained::best_checkpoint(source.checkpoints());
  const std::string state = whole(newest), best_state = std::filesystem::exists(best) ? whole(best) : "";
  make_folder(folder.checkpoints());
  if (!best_state.empty()) write_file_atomically(folder.checkpoints() / best.filename(), best_state);
  write_file_atomically(folder.checkpoints() / newest.filename(), state);
}

int replicas_side_by_side(const job::Job& job, const comm::Rendezvous& rendezvous) {
  return std::clamp(comm::cores_of_worker(rendezvous, read_cores()) / job.train.threads, 1, job.train.replicas);
}

// The device of the process, or several as a group.
train::Computing computing(const job::Job& job, const comm::Rendezvous& rendezvous) {
  const models::Device device = train::numerics_of(job).device;
  const int replicas = replicas_side_by_side(job, rendezvous);
  if (device == models::Device::kCpu) {
    models::need_device(device);
    const int emulated = comm::emulated_devices();
    if (emulated == 0) return replicas;
    return {replicas, std::make_shared<devices::HostDeviceGroup>(emulated)};
  }
  models::need_device(device);  // or there is nothing to divide
  const std::vector<int> gpus =
      devices::gpus_of_worker(models::devices_there(device), rendezvous.local_rank, rendezvous.local_world_size,
                              job.distribution.devices_per_worker);
  models::need_device(device, gpus.front());
  if (gpus.size() == 1) return replicas;
  // A thread of the host for each, or it would wait for its turn.
  return {std::clamp(static_cast<int>(gpus.size()), replicas, std::max(replicas, job.train.replicas)),
          devices::make_nccl_group(gpus)};
}

// The log lies in the run's folder, whose disk may be what hangs: the launcher is told first, and the log has a moment.
[[noreturn]] void end_hanging(const Error& error) {
  constexpr auto kLogTime = std::chrono::seconds(1);
  launch::report_worker_error(error);
  auto written = std::make_shared<std::promise<void>>();
  std::thread([text = std::string(error.what()), written] {
    log::error(text);
    written->set_value();
  }).detach();
  if (written->get_future().wait_for(kLogTime) != std::future_status::ready) {
    const std::string text = std::string("linac: ") + error.what() + "\n";
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (poll(&ready, 1, 0) == 1) [[maybe_unused]]
      const auto said = write(STDERR_FILENO, text.data(), text.size());
  }
  _exit(static_cast<int>(error.code()));  // what hangs cannot be ended in an orderly way
}

comm::GroupSettings group_settings(const job::Job& job, const TrainOptions& options,
                                   const std::filesystem::path& folder) {
  const auto milliseconds = [](double seconds) { return std::chrono::milliseconds(std::llround(1000 * seconds)); };
  return {.stall_timeout = milliseconds(job.distribution.stall_timeout_s),
          .members_min = job.distribution.workers_min,
          .replicas = job.distribution.balance ? static_cast<int>(job.train.replicas) : 0,
          .open = !options.listen.empty(),
          .listen = options.listen,
          .join_addresses = {},
          .folder = folder,
          .on_hang = end_hanging};
}

// What people call the run's folder.
std::string name_of(const TrainOptions& options, const std::filesystem::path& folder) {
  if (!options.mirrored.empty()) return options.mirrored;
  return storage::scheme_of(options.out) ? options.out : folder.string();
}

train::TrainingOptions run_options(const TrainOptions& options, const std::filesystem::path& folder,
                                   train::Computing computing) {
  return {.folder = folder,
          .start = options.resume || !options.branch.empty() ? train::Start::kResume : train::Start::kFresh,
          .computing = std::move(computing),
          .joins = !options.join.empty(),
          .started_in = started_in(options),
          .name = name_of(options, folder)};
}

std::filesystem::path folder_of(const TrainOptions& options, const job::Job& job) {
  if (storage::scheme_of(options.out)) return train::mirrored_folder(options.out);
  return options.out.empty() ? default_folder(job, options.resume) : std::filesystem::path(options.out);
}

// Null for a run whose folder lies in a file system.
std::unique_ptr<train::RunMirror> mirror_of(const TrainOptions& options) {
  if (!storage::scheme_of(options.out)) {
    if (options.take_over) throw user_error("[train] --take-over is for a run at s3://; name it with --out");
    return nullptr;
  }
  return std::make_unique<train::RunMirror>(
      options.out, options.resume ? train::RunMirror::Begin::kResume : train::RunMirror::Begin::kFresh,
      options.take_over ? storage::TakeOver::kAtOnce : storage::TakeOver::kIfLeft);
}

// Makes the run's folder, here and at the store.
void prepare(train::RunMirror* mirror, const TrainOptions& options, const job::Job& job,
             const std::filesystem::path& folder) {
  if (mirror != nullptr) mirror->bring();
  if (!options.branch.empty()) branch_off(job, options.branch, folder);
  prepare_folder(job, folder, name_of(options, folder), options.resume);
  if (mirror != nullptr) mirror->start();
}

// What `train` has written is at the store when this returns. Its own error comes before that of the store, but for a
// run that another process has taken over.
void keeping(train::RunMirror* mirror, const std::function<void()>& train) {
  std::exception_ptr failure;
  try {
    train();
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    if (mirror != nullptr) mirror->finish(failure == nullptr);
  } catch (const Error& error) {
    if (!failure || error.code() == ErrorCode::kUser) throw;
    log::error(error.what());
  }
  if (failure) std::rethrow_exception(failure);
}

// What all workers do once it is clear which they are. `make_group` meets the others.
void work(const TrainOptions& options, const job::Job& job, std::shared_ptr<const trained::KerasFile> read,
          const std::filesystem::path& folder, const comm::Rendezvous& rendezvous,
          const std::function<std::unique_ptr<comm::Group>()>& make_group) {
  catch_stop_signals();
  train::Computing with = computing(job, rendezvous);
  if (with.devices) log::info("[devices] " + with.devices->describe());
  models::use_threads(job.train.threads);
  const auto group = make_group();
  train::run_training(job, *group, run_options(options, folder, std::move(with)), std::move(read));
}

// For one that wants to join: whether the record of that run says that it is complete, and nobody is there any more. A
// worker that fails leaves its word in the record while the others go on. Throws if the run has ended otherwise.
bool is_complete(const train::RunFolder& run, const std::vector<std::string>& join_addresses) {
  constexpr std::chrono::seconds kPatience{2};
  const auto said = run.summary();
  const job::RunState state = said ? job::state_of(said->status) : job::RunState::kRunning;
  if (state == job::RunState::kRunning || comm::somebody_listens(join_addresses, kPatience)) return false;
  if (state == job::RunState::kSucceeded) return true;
  throw Error(ErrorCode::kPeerLost,
              fmt::format("[train] {}: the run has ended ({} after step {}), so there is nothing to join; go on with "
                          "--resume",
                          run.root().string(), said->status, std::max<int64_t>(0, said->global_step)));
}

// A worker of a run that others have begun.
void join_run(const TrainOptions& options, comm::Rendezvous place) {
  trained::CompiledJob whole = job_of(options);
  const job::Job& job = whole.job;
  const bool by_folder = std::filesystem::is_directory(options.join);
  if (!by_folder) storage::need_local_folder(options.out, "train");
  const std::filesystem::path folder = by_folder ? std::filesystem::path(options.join) : folder_of(options, job);
  comm::GroupSettings settings = group_settings(job, options, folder);
  settings.join_addresses =
      by_folder ? comm::ViewLedger::join_addresses(train::RunFolder(folder).views()) : std::vector{options.join};
  if (settings.join_addresses.empty()) {
    throw user_error(
        fmt::format("[train] {}: no run with several workers goes on there (no views/); start one with "
                    "--workers, or --listen to let others join a single one",
                    options.join));
  }
  if (by_folder && is_complete(train::RunFolder(folder), settings.join_addresses))
    return log::info(fmt::format("{}: the run is complete, so there is nothing to join", folder.string()));
  if (!by_folder) {
    train::RunFolder own(folder);
    if (own.holds_run()) need_same_numerics(job, own.job(), folder.string());  // it was part of this run before
    own.create(job);
  }
  const auto worker = comm::process_environment("LINAC_WORKER");
  log::set_tag(fmt::format("worker {}", worker ? *worker : std::to_string(getpid())));
  log::set_file(train::RunFolder(folder).log());
  place.local_rank = comm::local_rank_of_newcomer(place);
  work(options, job, std::move(whole.file), folder, place, [&] { return comm::make_group(place, settings); });
}

// Null if nobody asked for it.
std::unique_ptr<client::Tracker> tracker(const TrainOptions& options, const std::filesystem::path& folder) {
  if (!options.track) return nullptr;
  return std::make_unique<client::Tracker>(client::find_login(options.server), folder, options.experiment);
}

// One worker of a group that somebody started: `linac train --workers`, torchrun, mpirun, srun, Kubernetes.
void run_worker(const TrainOptions& options, const comm::Rendezvous& rendezvous, trained::CompiledJob whole) {
  job::Job& job = whole.job;
  if (rendezvous.world_size > job.train.replicas) {
    throw user_error(
        fmt::format("[train] {} workers (from {}) for train.replicas = {}: a worker carries at least one replica",
                    rendezvous.world_size, rendezvous.source, job.train.replicas));
  }
  job.workers = rendezvous.world_size;
  const std::filesystem::path folder = folder_of(options, job);
  std::unique_ptr<train::RunMirror> mirror;
  if (rendezvous.rank == 0 && !options.launched) {
    mirror = mirror_of(options);
    prepare(mirror.get(), options, job, folder);
  }
  keeping(mirror.get(), [&] {
    if (rendezvous.rank == 0 || options.launched) log::set_file(train::RunFolder(folder).log());
    const auto tracked = rendezvous.rank == 0 ? tracker(options, folder) : nullptr;
    work(options, job, std::move(whole.file), folder, rendezvous,
         [&] { return comm::make_group(rendezvous, group_settings(job, options, folder)); });
  });
}

int start_workers(const TrainOptions& options, const job::Job& job, const std::filesystem::path& folder) {
  std::vector<std::string> arguments{"linac", "train", options.job, "--out", folder.string(), "--launched"};
  if (options.resume || !options.branch.empty()) arguments.push_back("--resume");
  if (storage::scheme_of(options.out)) arguments.insert(arguments.end(), {"--mirrored", options.out});
  arguments.insert(arguments.end(),
                   {"--workers", options.workers.empty() ? std::to_string(job.workers) : options.workers});
  if (!options.listen.empty()) arguments.insert(arguments.end(), {"--listen", options.listen});
  for (const std::string& assignment : options.overrides) arguments.insert(arguments.end(), {"--set", assignment});
  launch::LocalLaunch launch;
  launch.workers = job.workers;
  launch.argv = arguments;
  launch.views = train::RunFolder(folder).views();
  launch.restarts = job.distribution.restarts;
  launch.may_leave = job.distribution.on_sigterm == "leave";
  launch.join_argv = arguments;
  launch.join_argv.insert(launch.join_argv.end(), {"--join", folder.string()});
  return launch::launch_local_workers(launch, comm::c10d_stores());
}

void run_train(const TrainOptions& options) {
  const comm::Rendezvous rendezvous = comm::rendezvous_from_environment();
  if (!options.join.empty()) return join_run(where_the_run_was_started(options), rendezvous);
  if (rendezvous.world_size > 1) {
    log::set_tag(fmt::format("rank {}", rendezvous.rank));
    return run_worker(options, rendezvous, job_of(options));
  }
  trained::CompiledJob whole = job_of(options);
  const job::Job& job = whole.job;
  const std::filesystem::path folder = folder_of(options, job);
  // What the store refuses is known before the data are looked through.
  const auto mirror = mirror_of(options);
  train::check_job(job, whole.file.get());
  prepare(mirror.get(), options, job, folder);
  if (job.workers == 1) {
    TrainOptions lone = options;
    lone.out = folder.string();
    lone.launched = true;
    lone.mirrored = mirror ? options.out : "";
    return keeping(mirror.get(), [&] { run_worker(lone, rendezvous, std::move(whole)); });
  }
  whole.file.reset();
  keeping(mirror.get(), [&] {
    auto tracked = tracker(options, folder);
    const int status = start_workers(options, job, folder);
    tracked.reset();
    if (status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace

void add_train_verb(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  auto* verb = add_compute_verb(app, "train");
  verb->add_option("job", options->job, "job file (YAML), by path or URL; not needed with --join FOLDER");
  verb->add_option("--workers", options->workers,
                   "local worker processes, N or MIN:MAX; never changes the result (default: the job's). Lost ones are "
                   "replaced; the run goes on while MIN (default 1) are left")
      ->check(CLI::Validator(is_worker_range, "N or MIN:MAX"));
  verb->add_option("--join", options->join,
                   "join a run that goes on: its folder, or RUN@HOST:PORT of one of its workers, as its views/ say");
  verb->add_option(
      "--listen", options->listen,
      "numeric address of this machine, IPv4 or IPv6, at which workers on other machines may join (default: none)");
  verb->add_option(
      "--out", options->out,
      "folder of the run (default: runs/NAME-DATE-TIME), or s3://BUCKET/FOLDER, where it is kept while the "
      "run goes on (docs/guide/data.md)");
  verb->add_flag("--resume", options->resume,
                 "go on from the newest good checkpoint of the folder; start there if there is none");
  verb->add_option("--branch", options->branch,
                   "a new run that goes on from the newest checkpoint of this one, with another rate, other weights of "
                   "losses or another dropout")
      ->check(CLI::ExistingDirectory)
      ->excludes("--resume");
  verb->add_flag("--take-over", options->take_over,
                 "go on with a run at s3:// although another process seems to work on it, which stops then");
  verb->add_option("--set", options->overrides, "override a setting of the job: key=value, e.g. train.epochs=5")
      ->type_size(1)
      ->allow_extra_args(false);
  auto* track = verb->add_flag("--track", options->track,
                               "keep the run in the catalog of a service while it goes on, as `linac ingest` does");
  verb->add_option("--server", options->server,
                   "address of that service (default: LINAC_SERVER, else that of the last login)")
      ->needs(track);
  verb->add_option("--experiment", options->experiment, "put the run there; made if there is none")->needs(track);
  verb->add_flag("--launched", options->launched, "this process was started by linac train --workers")->group("");
  verb->add_option("--mirrored", options->mirrored, "where that keeps the folder")->group("");
  verb->footer(
      "Examples:\n"
      "  linac train examples/demo.yaml --workers 2\n"
      "  linac train examples/demo.yaml --out runs/a --set train.epochs=10 --set train.lr=5e-4\n"
      "  linac train examples/demo.yaml --out runs/a --resume\n"
      "  linac train examples/demo.yaml --out s3://bucket/runs/a\n"
      "  linac train s3://bucket/runs/a/job.yaml --out s3://bucket/runs/a --resume    # on any machine\n"
      "  linac train examples/demo.yaml --track --experiment calo\n"
      "  torchrun --no-python --nproc-per-node 2 linac train examples/demo.yaml --out runs/b\n"
      "  linac train examples/demo.yaml --workers 2:4 --out runs/c --listen 10.0.0.1\n"
      "  linac train --join runs/c\n"
      "Workers started by others are found by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, TF_CONFIG, or the "
      "variables of Open MPI and Slurm.");
  verb->callback([options] { run_train(*options); });
}

}  // namespace linac::cli
