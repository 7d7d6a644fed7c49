#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/bytes.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/progress.h"
#include "linac/base/job/job.h"
#include "linac/cli/data/asked_to_stop.h"
#include "linac/cli/data/bytes_bar.h"
#include "linac/cli/data/data_of_job.h"
#include "linac/cli/data/data_verbs.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/rewrite/convert.h"
#include "linac/io/data/rewrite/rewrite.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/storage.h"

namespace linac::cli {
namespace {

struct ConvertWords {
  std::vector<std::string> files;  // the last one is the output
  data::Fields fields;
  data::Preprocessing preprocessing;
  data::RewriteOptions options;
  std::vector<std::string> by, parts;  // of a split
  int folds = 0;
  std::string filter, job, part, format;
  bool shards_given = false, table_option = false, shower_option = false;
};

std::string output_of(ConvertWords& words, const char* where) {
  if (words.files.size() < 2)
    throw user_error(fmt::format("[{}] one file is named; give inputs and then the output", where));
  std::string output = words.files.back();
  words.files.pop_back();
  return output;
}

void convert_showers(const ConvertWords& words, const std::string& output) {
  std::unique_ptr<Progress> bar;
  data::ConvertOptions conversion;
  conversion.fields = words.fields;
  conversion.preprocessing = words.preprocessing;
  conversion.shards = words.shards_given ? static_cast<int>(words.options.shards) : 1;
  conversion.overwrite = words.options.overwrite;
  conversion.progress = [&bar](int64_t done, int64_t total) {
    // The total is only known once the inputs are scanned.
    if (!bar) bar = std::make_unique<Progress>("convert", total);
    bar->update(done, "events");
  };
  const data::ConvertReport report = data::convert(words.files, output, conversion);
  if (bar) bar->finish(fmt::format("{} events", report.events_written));
  for (const auto& file : report.files) fmt::print("{}\n", file.string());
  const int64_t dropped = report.events_read - report.events_written;
  if (dropped > 0) fmt::print("{} events dropped: cells sum to {} or less\n", dropped, words.preprocessing.min_sum);
}

/// What the job makes of its columns, and which events it takes; its split counts where a part is named.
data::Transform transform_of(const ConvertWords& words) {
  data::Transform transform;
  if (!words.job.empty()) {
    const bool splits = !words.part.empty() || words.options.part_folders;
    transform = events_of_jobs().transform(words.job, splits && words.by.empty());
    std::erase_if(transform.define, [](const auto& one) { return one.first == one.second; });  // the events' weight
    if (!splits || !words.by.empty()) transform.split.reset();
  }
  if (!words.filter.empty())
    transform.filter =
        transform.filter.empty() ? words.filter : fmt::format("({}) && ({})", transform.filter, words.filter);
  return transform;
}

void rewrite(ConvertWords& words, const std::string& output) {
  data::RewriteOptions& options = words.options;
  const std::vector<std::string> inputs = storage::expand_all(words.files);
  BytesBar bar(options.where);
  options.stop = asked_to_stop();
  options.progress = [&](int64_t done, int64_t all) { bar.update(done, all); };
  const data::RewriteReport report = data::rewrite_tables(inputs, output, options);
  bar.clear();
  for (const columns::LeftOutColumn& one : report.left_out)
    log::warn(fmt::format("[{}] {}: column '{}' is not written: {}", options.where, inputs.front(), one.name, one.why));
  int64_t left = 0;
  for (const data::RewrittenFile& file : report.files) {
    if (file.events < 0) {
      ++left;
      continue;
    }
    fmt::print("{}: {}, {}{}\n", storage::is_remote(file.name) ? net::without_secrets(file.name) : file.name,
               plural(file.events, "event"), format_bytes(file.bytes), file.kept ? ", was there" : "");
  }
  if (report.stopped)
    throw Error(ErrorCode::kPreempted,
                fmt::format("[{}] stopped by a signal, {} of {} not written; the same command goes on", options.where,
                            left, plural(static_cast<int64_t>(report.files.size()), "file")));
}

/// Whether the output is a file by its name, and not a folder.
bool names_file(const std::string& output) {
  const std::string last = output.substr(output.rfind('/') + 1);
  std::error_code none;
  return last.find('.') != std::string::npos && last.find_first_not_of('.') != std::string::npos &&
         (storage::is_remote(output) || !std::filesystem::is_directory(output, none));
}

bool inputs_are_showers(const ConvertWords& words) {
  const std::vector<std::string> inputs = storage::expand_all(words.files);
  return holds_showers(data::contents_of_table(storage::Source::open(inputs.front())), words.fields);
}

/// Showers become showers where nothing is said of columns; everything else is a table.
bool is_table(const ConvertWords& words, const std::string& output) {
  const auto named = data::written_ending_of(output);
  if (words.table_option || !names_file(output) || (named && named->format == data::WrittenFormat::kParquet))
    return true;
  return named && !inputs_are_showers(words);
}

/// What --format says, or else the output's ending.
void take_format(ConvertWords& words, const std::string& output) {
  data::RewriteOptions& options = words.options;
  const auto named = names_file(output) ? data::written_ending_of(output) : std::nullopt;
  if (words.format.empty()) {
    if (named) options.format = named->format;
    return;
  }
  options.format = data::written_format_named(words.format).value();
  if (named && named->format != options.format)
    throw user_error(fmt::format("[{}] {}: its ending says {}, --format {}; give a name that ends in {}, or a folder",
                                 options.where, output, data::to_string(named->format), words.format,
                                 data::ending_of(options.format)));
}

void run_convert(ConvertWords& words) {
  const std::string output = output_of(words, "convert");
  if (!is_table(words, output)) return convert_showers(words, output);
  if (output.ends_with(".root"))
    throw user_error(fmt::format(
        "[convert] {}: ROOT files are read and not written; give a name that ends in .parquet, .tfrecord or .h5, or a "
        "folder",
        output));
  take_format(words, output);
  if (words.shower_option)
    throw user_error(
        "[convert] --scale, --threshold, --min-sum, --power and --field-... are for showers, which become .h5 or "
        ".tfrecord without --format or another option of tables; these inputs are converted as tables: leave them "
        "out");
  words.options.transform = transform_of(words);
  if (!words.part.empty()) {
    if (!words.options.transform.split)
      throw user_error("[convert] --part: it is a part of a job's data.split; give --job with a job that has one");
    words.options.parts = {data::part_named(words.part).value()};
  }
  rewrite(words, output);
}

// "train=0.8", ...: the rule of a job's split, whose training part is what the others leave.
void take_parts(const ConvertWords& words, data::RewriteOptions& options) {
  data::SplitRule rule{.key = words.by};
  double all = 0;
  for (const std::string& text : words.parts) {
    const size_t sign = text.find('=');
    const auto part = data::part_named(text.substr(0, sign));
    double share = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = sign == std::string::npos
                                     ? std::from_chars_result{text.data(), std::errc::invalid_argument}
                                     : std::from_chars(text.data() + sign + 1, end, share);
    if (!part || failure != std::errc() || stop != end || !(share > 0) || share > 1)
      throw user_error(
          fmt::format("[split] --parts {}: wanted is train=SHARE,validation=SHARE,test=SHARE, shares above 0 "
                      "that add up to 1; e.g. train=0.8,validation=0.1,test=0.1",
                      text));
    if (std::ranges::find(options.parts, *part) != options.parts.end())
      throw user_error(fmt::format("[split] --parts: {} is named twice; name each part once", data::to_string(*part)));
    options.parts.push_back(*part);
    if (*part == data::Part::kValidation) rule.validation = share;
    if (*part == data::Part::kTest) rule.test = share;
    all += share;
  }
  if (std::abs(all - 1) > 1e-9)
    throw user_error(fmt::format("[split] --parts: the shares add up to {}; let them add up to 1", all));
  options.transform.split = rule;
}

/// A folder for each fold, the events that test when it is the chosen one.
void run_folds(ConvertWords& words, const std::string& output) {
  data::RewriteOptions& options = words.options;
  if (!words.parts.empty() || !words.job.empty() || words.by.empty())
    throw user_error(
        "[split] --folds wants the columns that tell events apart, and neither --parts nor --job; e.g. --folds 5 --by "
        "run,event");
  options.where = "split";
  options.part_folders = true;
  take_format(words, output + "/");
  options.transform = transform_of(words);
  options.transform.split = data::SplitRule{.key = words.by, .folds = words.folds};
  rewrite(words, output + "/");
}

void run_split(ConvertWords& words) {
  const std::string output = output_of(words, "split");
  if (words.folds > 0) return run_folds(words, output);
  data::RewriteOptions& options = words.options;
  options.where = "split";
  options.part_folders = true;
  if (words.by.empty() != words.parts.empty())
    throw user_error("[split] --by and --parts belong together; give both, or a job with data.split");
  if (words.by.empty() && words.job.empty())
    throw user_error(
        "[split] which events go where is not said; give --parts train=0.8,validation=0.1,test=0.1 "
        "and --by KEY, or --job with a job that has data.split");
  take_format(words, output + "/");
  options.transform = transform_of(words);
  if (!words.parts.empty()) take_parts(words, options);
  if (!options.transform.split)
    throw user_error(fmt::format("[split] {}: has no data.split; give --parts and --by", words.job));
  if (options.parts.empty()) {
    options.parts.push_back(data::Part::kTrain);
    if (options.transform.split->tests()) options.parts.push_back(data::Part::kValidation);
    if (options.transform.split->test > 0) options.parts.push_back(data::Part::kTest);
  }
  rewrite(words, output);
}

/// NAME,NAME or the option again.
CLI::Option* add_names(CLI::App& verb, const std::string& name, std::vector<std::string>& values, const char* help) {
  return verb.add_option(name, values, help)->type_size(1)->allow_extra_args(false)->delimiter(',');
}

void add_table_options(CLI::App& verb, ConvertWords& words) {
  data::RewriteOptions& options = words.options;
  add_names(verb, "--columns", options.columns, "write these columns, in this order: NAME,NAME or repeated");
  add_names(verb, "--without", options.without, "write all columns but these: NAME,NAME or repeated");
  verb.add_option("--filter", words.filter, "write the events for which this formula holds (docs/guide/transforms.md)")
      ->check([](const std::string& formula) {
        return formula.empty() ? "it has no formula, and would select all events; leave it out for that" : "";
      });
  verb.add_option("--job", words.job, "a job whose data.lists, define and filter are applied");
  verb.add_option("--events-per-file", options.events_per_file, "so many events are read for each output file")
      ->check(CLI::Range(int64_t{1}, INT64_MAX));
  verb.add_option("--jobs", options.jobs, "files at a time")->capture_default_str()->check(CLI::Range(1, 64));
  add_names(verb, "--list", options.lists, "TFRecord: a list, though the first record has one value of it");
  add_names(verb, "--float32", options.float32, "columns of float64 that are rounded to float32");
  verb.add_option("--format", words.format, "of the output; without it the ending says it, a folder holds Parquet")
      ->check(CLI::IsMember(data::written_formats()));
}

bool has_any(const CLI::App& verb, std::initializer_list<const char*> names) {
  return std::ranges::any_of(names, [&](const char* name) { return verb.count(name) > 0; });
}

}  // namespace

void add_shower_options(CLI::App& verb, data::Fields& fields, data::Preprocessing& preprocessing) {
  verb.add_option("--scale", preprocessing.scale, "training units a GeV")->capture_default_str();
  verb.add_option("--threshold", preprocessing.threshold, "scaled cells below are set to 0")->capture_default_str();
  verb.add_option("--min-sum", preprocessing.min_sum, "events whose scaled cells sum to this or less are dropped")
      ->capture_default_str();
  verb.add_option("--power", preprocessing.power, "scaled cells are raised to this power")->capture_default_str();
  verb.add_option("--field-image", fields.image, "HDF5 data set of the cells, GeV")->capture_default_str();
  verb.add_option("--field-energy", fields.energy, "HDF5 data set of the energy, GeV")->capture_default_str();
  verb.add_option("--field-angle", fields.angle, "HDF5 data set of the polar angle, rad")->capture_default_str();
}

bool holds_showers(const data::TableContents& contents, const data::Fields& fields) {
  const auto has = [&](const std::string& name) {
    return std::ranges::find(contents.names, name) != contents.names.end();
  };
  if (contents.format == "hdf5") return has(fields.image);
  return contents.format == "tfrecord" && has("X") && has("Y") && has("ang") && has("ecal");
}

void add_data_convert(CLI::App& data) {
  auto words = std::make_shared<ConvertWords>();
  auto* verb = data.add_subcommand(
      "convert",
      "Events of any format as Parquet, TFRecord or HDF5: columns, events and lists selected, so many a file, going on "
      "where it stopped. Raw showers (.h5, GeV) to training samples (.tfrecord) or back, merged or resharded: the "
      "ending of the output says which; with --format their columns are converted as they are");
  verb->add_option(
          "files", words->files,
          "inputs (paths, globs, URLs), then the output: a .parquet, .tfrecord, .tfrecord.gz or .h5 file, or a "
          "folder, where each input becomes a file")
      ->required();
  verb->add_option("--shards", words->options.shards, "output files, named NAME-00000-of-0000N")
      ->check(CLI::Range(1, 99999));
  verb->add_flag("--overwrite", words->options.overwrite, "replace existing output files");
  add_table_options(*verb, *words);
  verb->add_option("--part", words->part, "with --job: the events of this part of its split")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  add_shower_options(*verb, words->fields, words->preprocessing);
  verb->footer(
      "Examples:\n  linac data convert 'ntuples/*.root' events/ --columns pt,eta,label --filter 'pt > 20'\n"
      "  linac data convert 's3://bucket/part-*.parquet' events.parquet --shards 8 --job job.yaml\n"
      "  linac data convert 'events/*.parquet' events.tfrecord.gz --shards 8\n"
      "  linac data convert 'data/showers-train*.h5' samples.tfrecord --shards 8");
  verb->callback([words, verb] {
    words->shards_given = verb->count("--shards") > 0;
    words->table_option = has_any(*verb, {"--columns", "--without", "--filter", "--job", "--events-per-file", "--jobs",
                                          "--list", "--format", "--float32", "--part"});
    words->shower_option = has_any(
        *verb, {"--scale", "--threshold", "--min-sum", "--power", "--field-image", "--field-energy", "--field-angle"});
    run_convert(*words);
  });
}

void add_data_split(CLI::App& data) {
  auto words = std::make_shared<ConvertWords>();
  auto* verb = data.add_subcommand(
      "split",
      "Events of any format into folders train, validation and test: by a hash of their key, as the split of a job "
      "takes them (docs/guide/transforms.md)");
  verb->add_option("files", words->files, "inputs (paths, globs, URLs), then the folder of the parts")->required();
  add_names(*verb, "--parts", words->parts, "shares, e.g. train=0.8,validation=0.1,test=0.1");
  verb->add_option("--folds", words->folds, "in place of --parts: folders fold-1, fold-2, ... of equal parts")
      ->check(CLI::Range(2, job::kFoldsMax));
  add_names(*verb, "--by", words->by, "columns that tell events apart: KEY,KEY or repeated");
  verb->add_option("--shards", words->options.shards, "output files of each part, named part-00000-of-0000N")
      ->check(CLI::Range(1, 99999));
  verb->add_flag("--overwrite", words->options.overwrite, "replace existing output files");
  add_table_options(*verb, *words);
  verb->footer(
      "Examples:\n"
      "  linac data split 'events/*.parquet' parts --parts train=0.8,validation=0.1,test=0.1 --by run,event\n"
      "  linac data split 'events/*.parquet' parts --folds 5 --by run,event    # as `linac train --fold 2/5` takes "
      "them");
  verb->callback([words] { run_split(*words); });
}

}  // namespace linac::cli
