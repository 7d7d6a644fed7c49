#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/cli/data/batch_columns.h"
#include "linac/cli/data/batch_link.h"
#include "linac/cli/data/batch_memory.h"
#include "linac/cli/data/data_verbs.h"
#include "linac/io/data/event_table.h"
#include "linac/io/data/order/batch_stream.h"
#include "linac/io/data/order/windowed_table.h"
#include "linac/io/storage/storage.h"

namespace linac::cli {
namespace {

constexpr int kSlotsMax = 64;

struct BatchesOptions {
  std::vector<std::string> files, define, classes, joined;
  ColumnWords columns;
  std::string filter;
  int64_t batch = 32, steps = 0;
  uint64_t seed = 0;
  uint32_t epoch = 0, step = 0, epochs = 0;
  int rank = 0, world = 1, threads = 1, memory = -1, slots = 4;
  std::optional<int> prefetch;
  bool in_order = false;
};

std::pair<std::string, std::string> parts_of(const std::string& word, const char* option, const char* wanted) {
  const size_t equals = word.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw user_error(fmt::format("[batches] {} {}: wanted is {}", option, word, wanted));
  return {word.substr(0, equals), word.substr(equals + 1)};
}

data::Transform transform_of(const BatchesOptions& options) {
  data::Transform transform;
  transform.filter = options.filter;
  for (const std::string& word : options.define) transform.define.insert(parts_of(word, "--define", "NAME=FORMULA"));
  return transform;
}

/// By the name before "=". The words behind are a JSON list, because a class or a column may be called anything.
std::map<std::string, std::vector<std::string>> lists_in(const std::vector<std::string>& words, const char* option) {
  std::map<std::string, std::vector<std::string>> lists;
  for (const std::string& word : words) {
    const auto [name, text] = parts_of(word, option, R"(NAME=["a","b"])");
    const auto list = nlohmann::json::parse(text, nullptr, false);
    if (!list.is_array() || !std::ranges::all_of(list, [](const auto& one) { return one.is_string(); }))
      throw user_error(fmt::format(R"([batches] {} {}: wanted is NAME=["a","b"])", option, word));
    lists[name] = list.get<std::vector<std::string>>();
  }
  return lists;
}

ColumnWords words_of(const BatchesOptions& options) {
  ColumnWords words = options.columns;
  words.classes = lists_in(options.classes, "--classes");
  words.joined = lists_in(options.joined, "--joined");
  return words;
}

void check_place(const BatchesOptions& options) {
  if (options.rank >= options.world) {
    throw user_error(fmt::format("[batches] --rank {}: of {} the ranks are 0 to {}", options.rank, options.world,
                                 options.world - 1));
  }
  if (options.columns.window > 0 && options.in_order)
    throw user_error("[batches] --in-order: a window draws an order of its own; leave --window out");
}

template <class Set>
void stream(const std::shared_ptr<const Set>& set, const BatchesOptions& options,
            const std::vector<BatchColumn>& columns, BatchLink& link) {
  data::BatchStream<Set> batches(set,
                                 {.seed = options.seed,
                                  .batch = options.batch,
                                  .replicas = options.world,
                                  .owned = {options.rank},
                                  .steps_per_epoch = options.steps,
                                  .depth = options.prefetch,
                                  .threads = options.threads,
                                  .shuffle = !options.in_order},
                                 {options.epoch, options.step});
  if (options.step >= batches.steps_per_epoch()) {
    throw user_error(fmt::format("[batches] --step {}: an epoch has the steps 0 to {}", options.step,
                                 batches.steps_per_epoch() - 1));
  }
  BatchMemory memory(options.memory, columns, options.batch, options.slots);
  nlohmann::ordered_json header = memory.layout();
  header["slots"] = options.slots;
  header["batch"] = options.batch;
  header["events"] = set->size();
  header["steps_per_epoch"] = batches.steps_per_epoch();
  link.begin(header.dump());
  const uint64_t end =
      options.epochs == 0 ? std::numeric_limits<uint64_t>::max() : uint64_t{options.epoch} + options.epochs;
  for (;;) {
    const auto step = batches.next();
    if (step.position.epoch >= end) return;
    const int slot = link.take_slot();
    memory.write(slot, step.replicas.front());
    link.give(step.position.epoch, step.position.step, slot);
  }
}

void run_batches(const BatchesOptions& options) {
  check_place(options);
  BatchLink link(options.slots);  // from now on whoever has started this ends it
  const std::vector<std::string> urls = storage::expand_all(options.files);
  const data::Transform transform = transform_of(options);
  const std::vector<BatchColumn> columns = batch_columns(words_of(options), urls, transform);
  std::vector<data::ColumnRequest> requests;
  for (const BatchColumn& column : columns) requests.push_back(column.request);
  if (options.columns.window == 0) {
    const auto table = data::EventTable::open(urls, requests, transform);
    data::warn_of_cuts(*table);
    return stream<data::EventTable>(table, options, columns, link);
  }
  const auto counts = options.steps > 0 ? data::Counts::kNone : data::Counts::kAll;
  stream<data::WindowedTable>(data::windowed_table(urls, requests, transform, options.columns.window, counts), options,
                              columns, link);
}

}  // namespace

void add_data_batches(CLI::App& data) {
  auto options = std::make_shared<BatchesOptions>();
  auto* verb =
      data.add_subcommand("batches",
                          "Batches of events for the program that starts this, in memory which both have: what "
                          "linac.loader of the Python package reads");
  verb->add_option("files", options->files, "HDF5, Parquet, Arrow, ROOT or TFRecord files: paths, globs, URLs")
      ->required();
  const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* help) {
    return verb->add_option(name, values, help)->type_size(1)->allow_extra_args(false);
  };
  repeated("--column", options->columns.columns,
           "NAME as the files have it, NAME:FEATURES, or NAME:ROWSxFEATURES, to which lists of rows are padded (may be "
           "repeated)")
      ->required();
  repeated("--joined", options->joined,
           R"(NAME=["a","b"], the columns of numbers that make the list of a --column NAME (may be repeated))");
  repeated("--define", options->define, "NAME=FORMULA, a column that is computed (may be repeated)");
  repeated("--classes", options->classes, R"(COLUMN=["a","b"], the classes of a column of texts (may be repeated))");
  verb->add_option("--filter", options->filter, "a formula: only the events for which it holds");
  verb->add_option("--batch", options->batch, "events of a batch")->check(CLI::Range(1, 1 << 24));
  verb->add_option("--seed", options->seed, "of the order");
  verb->add_option("--epoch", options->epoch, "the first one");
  verb->add_option("--epochs", options->epochs, "so many; 0: until it is ended");
  verb->add_option("--step", options->step, "of the first epoch, to begin with");
  verb->add_option("--steps", options->steps, "of an epoch; 0: all events")->check(CLI::NonNegativeNumber);
  verb->add_option("--rank", options->rank, "which part of each step")->check(CLI::NonNegativeNumber);
  verb->add_option("--world", options->world, "parts of a step")->check(CLI::Range(1, 1 << 20));
  verb->add_option("--window", options->columns.window, "so many files at a time are mixed; 0: all")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--prefetch", options->prefetch, "batches read ahead (default: 3, and more where they help)");
  verb->add_option("--threads", options->threads, "that read ahead");
  verb->add_flag("--in-order", options->in_order, "of the files, not mixed");
  verb->add_option("--memory", options->memory, "the descriptor of memory that this process has inherited")->required();
  verb->add_option("--slots", options->slots, "batches that have room in it")->check(CLI::Range(2, kSlotsMax));
  verb->footer(
      "Example: linac data batches data/topology-train.parquet --column HLF_input --column label --batch 32 --memory "
      "3");
  verb->callback([options] { run_batches(*options); });
}

}  // namespace linac::cli
