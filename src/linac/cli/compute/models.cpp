// `linac models`: the catalog of models at a service.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/text_table.h"
#include "linac/base/job/run_choice.h"
#include "linac/cli/compute/model_facts.h"
#include "linac/cli/compute/named_model.h"
#include "linac/cli/compute/verbs.h"
#include "linac/control/client/model_catalog.h"
#include "linac/control/client/run_copy.h"
#include "linac/control/client/runs.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/train/trained/run_models.h"

namespace linac::cli {
namespace {

using client::CatalogVersion;
using client::ModelCatalog;
using nlohmann::json;

struct ModelsOptions {
  std::string server, filter, address, other, name, alias, stage, description, out, run;
  std::vector<std::string> tags;
  bool as_json = false;
};

json to_json(const CatalogVersion& version) {
  return {{"name", version.name},
          {"version", version.version},
          {"address", client::fixed_address(version.name, version.version)},
          {"stage", version.stage},
          {"aliases", version.aliases},
          {"description", version.description},
          {"user", version.user},
          {"run", version.run},
          {"tags", version.tags},
          {"created_ms", version.created_ms}};
}

// "input_1 (14), mask (801)" of the JSON in a tag.
std::string schema_words(const std::string& text) {
  const json all = json::parse(text.empty() ? "[]" : text, nullptr, false);
  std::vector<std::string> words;
  if (all.is_array())
    for (const json& each : all)
      words.push_back(
          fmt::format("{} ({})", each.value("name", ""), fmt::join(each.value("shape", std::vector<int64_t>()), ", ")));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string size_words(const std::string& bytes) {
  return bytes.empty() ? "-" : fmt::format("{:.1f} MB", std::stod(bytes) / 1e6);
}

void print_table(const std::vector<CatalogVersion>& versions) {
  std::vector<std::vector<std::string>> rows{
      {"model", "version", "stage", "aliases", "registered", "by", "size", "file"}};
  for (const CatalogVersion& each : versions) {
    rows.push_back({each.name, each.version > 0 ? std::to_string(each.version) : "-", each.stage,
                    fmt::format("{}", fmt::join(each.aliases, ", ")), client::time_words(each.created_ms), each.user,
                    size_words(each.tag("linac.bytes")), each.tag("linac.file")});
  }
  fmt::print("{}", lined_up(rows));
}

void print_json(const std::vector<CatalogVersion>& versions) {
  json all = json::array();
  for (const CatalogVersion& each : versions) all.push_back(to_json(each));
  fmt::print("{}\n", all.dump(2));
}

void list(const ModelsOptions& options, ModelCatalog& catalog, client::ServiceClient&) {
  const auto all = catalog.models(options.filter);
  if (options.as_json) return print_json(all);
  if (all.empty()) return fmt::print("no models yet; linac models register runs/... --name NAME\n");
  print_table(all);
}

json to_json(const client::Dependants& dependants) {
  json versions = json::array();
  for (const CatalogVersion& each : dependants.versions)
    versions.push_back(client::fixed_address(each.name, each.version));
  return {{"versions", std::move(versions)}, {"runs", dependants.runs}};
}

// What would no longer be understood without it.
std::string words(const client::Dependants& dependants) {
  std::vector<std::string> all;
  for (const CatalogVersion& each : dependants.versions) all.push_back(client::fixed_address(each.name, each.version));
  for (const auto& [id, name] : dependants.runs) all.push_back(fmt::format("run {} ({})", name, id.substr(0, 8)));
  return fmt::format("{}", fmt::join(all, ", "));
}

void show(const ModelsOptions& options, ModelCatalog& catalog, client::ServiceClient&) {
  if (!client::is_model_address(options.address)) {
    const auto all = catalog.versions(options.address);
    return options.as_json ? print_json(all) : print_table(all);
  }
  const CatalogVersion version = catalog.find(client::parse_model_address(options.address));
  const client::Dependants dependants = catalog.dependants(version);
  if (options.as_json) {
    json all = to_json(version);
    all["dependants"] = to_json(dependants);
    return fmt::print("{}\n", all.dump(2));
  }
  std::vector<std::vector<std::string>> rows{
      {"model", version.name},
      {"version", std::to_string(version.version)},
      {"stage", version.stage},
      {"aliases", fmt::format("{}", fmt::join(version.aliases, ", "))},
      {"registered", client::time_words(version.created_ms) + " by " + version.user},
      {"description", version.description},
      {"run", version.run},
      {"inputs", schema_words(version.tag("linac.inputs"))},
      {"outputs", schema_words(version.tag("linac.outputs"))}};
  for (const auto& [key, value] : version.tags)
    if (key != "linac.inputs" && key != "linac.outputs") rows.push_back({key, value});
  if (!dependants.none()) rows.push_back({"made from it", words(dependants)});
  fmt::print("{}", lined_up(rows));
}

// Of a run of the service: what it has left comes here, and is registered with where it comes from.
ModelFacts facts_of_service_run(client::ServiceClient& service, const std::string& run,
                                const std::filesystem::path& copy) {
  const json about = service.get("/api/v1/runs/" + run);
  client::copy_record(service, run, copy);
  client::copy_file(service, run, "report/report.json", copy);
  const auto there = client::files_of_run(service, run, "models");
  for (const char* name : trained::model_names()) {
    const std::string path = fmt::format("models/{}", name);
    if (std::ranges::none_of(there, [&](const client::ListedFile& file) { return file.path == path; })) continue;
    client::copy_file(service, run, path, copy);
    ModelFacts facts = model_facts(copy.string());
    facts.provenance["service_run"] = {{"id", run},
                                       {"name", about.at("name")},
                                       {"user", about.at("user")},
                                       {"state", about.at("state")},
                                       {"server", service.login().server},
                                       {"tags", about.at("tags")},
                                       {"inputs", about.at("inputs")}};
    return facts;
  }
  throw user_error(fmt::format(
      "[models] run {} ({}) has left no model at the service (it is {}); `linac artifacts list "
      "{} --all` shows what it has",
      about.at("name").get<std::string>(), run.substr(0, 8), about.at("state").get<std::string>(), run.substr(0, 8)));
}

// A folder or a file here, else a run of the service.
bool means_service_run(const std::string& name) {
  const std::string text = job::split_choice(name).run;
  const std::string ending = std::filesystem::path(text).extension();
  constexpr std::string_view kOfFiles[] = {".keras", ".pt", ".pt2", ".safetensors", ".onnx", ".h5"};
  return !std::filesystem::exists(text) && text.find('/') == std::string::npos &&
         std::ranges::find(kOfFiles, ending) == std::end(kOfFiles);
}

void do_register(const ModelsOptions& options, ModelCatalog& catalog, client::ServiceClient& service) {
  const TemporaryFolder copy;
  const bool of_service = means_service_run(options.address);
  if (const auto choice = job::split_choice(options.address); of_service && !choice.which.empty()) {
    throw user_error(
        fmt::format("[models] {}: of a run of the service its model is registered as the run left it; fetch "
                    "the run's folder, and name {} of that",
                    options.address, "@" + choice.which));
  }
  const std::string run = of_service ? client::find_run(service, options.address) : options.run;
  ModelFacts facts =
      of_service ? facts_of_service_run(service, run, copy.path()) : model_facts(named_model(options.address));
  for (const std::string& tag : options.tags) {
    const size_t equals = tag.find('=');
    if (equals == std::string::npos || equals == 0)
      throw user_error(fmt::format("[models] --tag {}: give KEY=VALUE, e.g. --tag units=GeV", tag));
    facts.tags[tag.substr(0, equals)] = tag.substr(equals + 1);
  }
  const CatalogVersion added = catalog.add({.name = options.name,
                                            .description = options.description,
                                            .alias = options.alias,
                                            .run = options.run.empty() ? run : options.run,
                                            .file = facts.file,
                                            .tags = facts.tags,
                                            .provenance = facts.provenance});
  if (options.as_json) return fmt::print("{}\n", to_json(catalog.find({added.name, "", added.version})).dump(2));
  fmt::print(
      "{}: loaded, computed two events, registered as {}{}\n",
      of_service ? fmt::format("run {}, {}", run.substr(0, 8), facts.file.filename().string()) : facts.file.string(),
      client::fixed_address(added.name, added.version), options.alias.empty() ? "" : ", alias " + options.alias);
}

void promote(const ModelsOptions& options, ModelCatalog& catalog, client::ServiceClient&) {
  const CatalogVersion version = catalog.find(client::parse_model_address(options.address));
  if (options.alias.empty() && options.stage.empty())
    throw user_error("[models] promote: give --alias NAME, --stage Production, or both");
  if (!options.alias.empty()) catalog.set_alias(version, options.alias);
  if (!options.stage.empty()) catalog.set_stage(version, options.stage);
  const CatalogVersion now = catalog.find({version.name, "", version.version});
  if (options.as_json) return fmt::print("{}\n", to_json(now).dump(2));
  fmt::print("{}: stage {}, aliases {}\n", client::fixed_address(now.name, now.version), now.stage,
             fmt::join(now.aliases, ", "));
}

void retire(const ModelsOptions& options, ModelCatalog& catalog, client::ServiceClient&) {
  const CatalogVersion version = catalog.find(client::parse_model_address(options.address));
  for (const std::string& alias : version.aliases) catalog.remove_alias(version.name, alias);
  catalog.set_stage(version, "Archived");
  fmt::print("{}: archived{}\n", client::fixed_address(version.name, version.version),
             version.aliases.empty() ? "" : fmt::format(", no longer {}", fmt::join(version.aliases, ", ")));
  if (const auto dependants = catalog.dependants(version); !dependants.none())
    fmt::print("made from it, and untouched: {}\n", words(dependants));
}

void set_visibility(const ModelsOptions& options, ModelCatalog& catalog, const char* visibility) {
  const bool address = client::is_model_address(options.address);
  const std::string name = address ? client::parse_model_address(options.address).name : options.address;
  catalog.set_visibility(name, visibility);
  if (options.as_json) return fmt::print("{}\n", json{{"name", name}, {"visibility", visibility}}.dump());
  fmt::print("{}: {}\n", name, visibility);
}

void share(const ModelsOptions& options, ModelCatalog& catalog, client::ServiceClient&) {
  set_visibility(options, catalog, "shared");
}

void unshare(const ModelsOptions& options, ModelCatalog& catalog, client::ServiceClient&) {
  set_visibility(options, catalog, "private");
}

void fetch(const ModelsOptions& options, ModelCatalog& catalog, client::ServiceClient&) {
  namespace fs = std::filesystem;
  const CatalogVersion version = catalog.find(client::parse_model_address(options.address));
  storage::need_local_folder(options.out, "models");
  const bool into_folder = options.out.empty() || fs::is_directory(options.out);
  const fs::path folder = options.out.empty() ? fs::path(".") : into_folder ? fs::path(options.out) : fs::path();
  fs::path file;
  if (into_folder) {
    file = catalog.fetch(version, folder);
  } else {
    const fs::path parent = fs::path(options.out).parent_path().empty() ? "." : fs::path(options.out).parent_path();
    const fs::path part = parent / fmt::format(".{}.fetched", fs::path(options.out).filename().string());
    const fs::path fetched = catalog.fetch(version, part);
    fs::rename(fetched, options.out);
    fs::remove_all(part);
    file = options.out;
  }
  fmt::print("{}: {}\n", file.string(), client::fixed_address(version.name, version.version));
}

void compare(const ModelsOptions& options, ModelCatalog& catalog, client::ServiceClient&) {
  const std::vector<CatalogVersion> both{catalog.find(client::parse_model_address(options.address)),
                                         catalog.find(client::parse_model_address(options.other))};
  if (options.as_json) return print_json(both);
  std::vector<std::vector<std::string>> rows{{""}};
  for (const CatalogVersion& each : both) rows.front().push_back(client::fixed_address(each.name, each.version));
  std::set<std::string> keys;
  for (const CatalogVersion& each : both)
    for (const auto& [key, value] : each.tags) keys.insert(key);
  rows.push_back({"registered", client::time_words(both[0].created_ms), client::time_words(both[1].created_ms)});
  for (const std::string& key : keys) {
    const bool is_schema = key == "linac.inputs" || key == "linac.outputs";
    const auto words = [&](const CatalogVersion& each) {
      return is_schema ? schema_words(each.tag(key)) : each.tag(key);
    };
    const bool same = both[0].tag(key) == both[1].tag(key);
    rows.push_back({key, words(both[0]), same ? "=" : words(both[1])});
  }
  fmt::print("{}", lined_up(rows));
}

using Action = void (*)(const ModelsOptions&, ModelCatalog&, client::ServiceClient&);

CLI::App* add_action(CLI::App& models, const char* name, const char* summary, Action action,
                     const std::shared_ptr<ModelsOptions>& options) {
  auto* verb = models.add_subcommand(name, summary);
  verb->add_option("--server", options->server, "address of the service (default: LINAC_SERVER, or the last login)");
  verb->add_flag("--json", options->as_json, "as JSON");
  verb->callback([options, action] {
    client::ServiceClient service(client::find_login(options->server));
    ModelCatalog catalog(service);
    action(*options, catalog, service);
  });
  return verb;
}

constexpr const char* kAddress = "catalog://NAME@ALIAS, catalog://NAME/VERSION, or catalog://NAME for the newest";

}  // namespace

void add_models_verb(CLI::App& app) {
  auto options = std::make_shared<ModelsOptions>();
  auto* models = add_handed_verb(app, "models");
  models->require_subcommand(1);
  auto* verb = add_action(*models, "list", "The newest version of each model", list, options);
  verb->add_option("--filter", options->filter, "e.g. \"name LIKE '3dgan%'\"");
  verb = add_action(*models, "show", "All versions of a model, or one with all that is known of it", show, options);
  verb->add_option("model", options->address, std::string("a model's name, or ") + kAddress)->required();
  verb = add_action(*models, "register", "Runs a model on two events and adds it to the catalog as a new version",
                    do_register, options);
  verb->add_option(
          "model", options->address,
          "folder of a run, a run of the service by id or name, or a .keras, TorchScript, .pt2 or weights file")
      ->required();
  verb->add_option("--name", options->name, "of the model; made if it is new")->required();
  verb->add_option("--alias", options->alias, "names this version from now on, e.g. champion");
  verb->add_option("--description", options->description, "what it is, in a sentence");
  verb->add_option("--run", options->run,
                   "the service's run that it comes from (known, if a run of the service is registered)");
  verb->add_option("--tag", options->tags, "KEY=VALUE, e.g. units=GeV or task=fast-simulation (may be repeated)")
      ->type_size(1)
      ->allow_extra_args(false);
  verb = add_action(*models, "promote", "Gives a version an alias or a stage", promote, options);
  verb->add_option("model", options->address, kAddress)->required();
  verb->add_option("--alias", options->alias, "e.g. champion; another version loses it");
  verb->add_option("--stage", options->stage, "None, Staging, Production or Archived")
      ->check(CLI::IsMember({"None", "Staging", "Production", "Archived"}));
  verb = add_action(*models, "retire", "Archives a version and takes its aliases away", retire, options);
  verb->add_option("model", options->address, kAddress)->required();
  verb = add_action(*models, "share", "Everybody with a token may read the model and the files of its versions", share,
                    options);
  verb->add_option("model", options->address, "its name")->required();
  verb = add_action(*models, "unshare", "Only its owner and admins may", unshare, options);
  verb->add_option("model", options->address, "its name")->required();
  verb = add_action(*models, "fetch", "Brings the file of a version", fetch, options);
  verb->add_option("model", options->address, kAddress)->required();
  verb->add_option("--out", options->out, "file or folder (default: here, under the file's own name)");
  verb = add_action(*models, "compare", "Two versions side by side", compare, options);
  verb->add_option("model", options->address, kAddress)->required();
  verb->add_option("other", options->other, kAddress)->required();
  models->footer(
      "Examples:\n"
      "  linac models register runs/topology --name topology --alias champion --tag units=GeV\n"
      "  linac models register topology --name topology    # of the run 'topology' at the service\n"
      "  linac models show catalog://topology@champion\n"
      "  linac predict --model catalog://topology@champion --data events.h5 --out scores.h5\n"
      "  linac train my.yaml --set model.from=catalog://topology@champion");
}

}  // namespace linac::cli
