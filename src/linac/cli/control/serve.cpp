#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "linac/base/base/error.h"
#include "linac/cli/control/database_option.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/service/backup.h"
#include "linac/control/service/service.h"
#include "linac/control/service/upkeep.h"

namespace linac::cli {
namespace {

constexpr const char* kDataHelp = "folder of the catalog and the artefacts";

struct CopyOptions {
  std::string data = "linac-data", database, folder;
};

using Copy = service::BackupSummary (*)(const CopyOptions&);

void add_copy_verb(CLI::App& serve, const char* name, const char* help, const char* folder, const char* folder_help,
                   const char* examples, Copy copy) {
  auto options = std::make_shared<CopyOptions>();
  auto* verb = serve.add_subcommand(name, help);
  verb->add_option("--data", options->data, kDataHelp)->capture_default_str();
  add_database_options(*verb, options->database);
  verb->add_option(folder, options->folder, folder_help)->required();
  verb->footer(examples);
  verb->callback([options, copy] {
    const service::BackupSummary summary = copy(*options);
    fmt::print("{} runs, {} rows, {} files ({} bytes)\n", summary.runs, summary.rows, summary.files, summary.bytes);
  });
}

struct TokenOptions {
  std::string data = "linac-data", database, user;
  int64_t days = 0;
  bool make = false, alone = false;
};

void add_token_verb(CLI::App& serve) {
  auto options = std::make_shared<TokenOptions>();
  auto* verb = serve.add_subcommand("token", "A new token for who may read the data folder, e.g. for a lost one");
  verb->add_option("--data", options->data, kDataHelp)->capture_default_str();
  add_database_options(*verb, options->database);
  verb->add_flag("--new", options->make, "makes one, and prints it once")->required();
  verb->add_option("--user", options->user, "whose (default: the first admin)");
  verb->add_option("--days", options->days, "until it ends; 0: never")->check(CLI::Range(0, 3650));
  verb->add_flag("--revoke-others", options->alone,
                 "the user's former tokens end, within a minute if the service runs");
  verb->footer(
      "Examples:\n"
      "  linac serve token --data ~/linac-data --new\n"
      "  linac serve token --data ~/linac-data --new --user ann --days 30 --revoke-others");
  verb->callback([options] {
    fmt::print("{}\n",
               service::token_of_host(options->data, options->database, options->user, options->days, options->alone));
  });
}

void add_check_verb(CLI::App& serve) {
  auto options = std::make_shared<CopyOptions>();
  auto* verb = serve.add_subcommand("check", "Reads the whole catalog and says whether it is sound");
  verb->add_option("--data", options->data, kDataHelp)->capture_default_str();
  add_database_options(*verb, options->database);
  verb->footer("Examples:\n  linac serve check --data ~/linac-data");
  verb->callback([options] {
    const auto damages = service::check_catalog(options->data, options->database);
    if (damages.empty()) {
      fmt::print("The catalog is sound.\n");
      return;
    }
    throw data_error(fmt::format("[serve] the catalog is damaged: {}; restore a backup (linac serve restore)",
                                 fmt::join(damages, "; ")));
  });
}

}  // namespace

void add_serve_verb(CLI::App& app) {
  auto options = std::make_shared<service::ServiceOptions>();
  auto no_auth = std::make_shared<bool>(false);
  auto* verb = app.add_subcommand("serve", "The training service: runs, metrics, artefacts and models over HTTP");
  verb->add_option("--data", options->data, kDataHelp)->capture_default_str();
  add_database_options(*verb, options->database);
  verb->add_option("--listen", options->listen, "ADDRESS:PORT; other than loopback only with TLS")
      ->capture_default_str();
  auto* certificate =
      verb->add_option("--tls-cert", options->tls_certificate, "PEM file of the certificate and its chain");
  auto* key = verb->add_option("--tls-key", options->tls_key, "PEM file of its key");
  certificate->needs(key);
  key->needs(certificate);
  verb->add_option("--host", options->hosts, "a further name by which clients call the service; repeat for several");
  verb->add_option("--connections", options->connections_max, "at a time; a quarter of them from one address")
      ->check(CLI::Range(4, 1000000))
      ->capture_default_str();
  verb->add_option("--keep-free", options->keep_free, "of the disk, which uploads and new jobs do not get, e.g. 1G")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("1G");
  verb->add_option(
      "--trusted-proxy", options->trusted_proxies,
      "address, or network as 10.1.0.0/16, of a proxy whose X-Forwarded-For is believed; repeat for several");
  verb->add_option("--requests-per-second", options->requests_per_s_max, "the most of one user")->capture_default_str();
  verb->add_option("--slots", options->slots,
                   "what jobs may have, e.g. cores=8,memory=32G,gpus=2 (default: the whole host); processes=512: for "
                   "each core of a job");
  verb->add_option("--lease", options->lease_s,
                   "seconds after which a job of an agent (`linac agent`) that is not heard of goes on elsewhere")
      ->check(CLI::Range(2, 86400))
      ->capture_default_str();
  verb->add_option("--sites", options->sites,
                   "file that declares sites (`linac sites init`) to which jobs may be sent: submit --on SITE");
  verb->add_option("--price", options->prices,
                   "of a core for an hour, or a YAML file with core, gpu, memory_gb, currency: runs are accounted, and "
                   "can be limited by cost");
  verb->add_flag("--trust-jobs", options->trust_jobs,
                 "jobs run without a sandbox: who submits one can do all that this service can");
  verb->add_option("--visibility", options->visibility,
                   "of new experiments and models: private (owner and admins read) or shared (everybody with a token)")
      ->check(CLI::IsMember({"private", "shared"}))
      ->capture_default_str();
  verb->add_option(
      "--artifact-store", options->artifact_stores,
      "s3://BUCKET/FOLDER: experiments may keep artefacts there, and versions of models their files; repeat "
      "for several (default: at the service alone)");
  verb->add_flag("--no-auth", *no_auth, "everybody is an admin; only for a loopback address");
  verb->footer(
      "Examples:\n"
      "  linac serve --data ~/linac-data\n"
      "  linac serve --db-file /etc/linac/database --listen 0.0.0.0:443 --tls-cert c.pem --tls-key "
      "k.pem\n"
      "  MLFLOW_TRACKING_URI=http://127.0.0.1:5000 MLFLOW_TRACKING_TOKEN=linac_... python train.py");
  add_copy_verb(*verb, "backup", "Copies the catalog and all files into a folder; the service may go on meanwhile",
                "--to", "the folder to make",
                "Examples:\n"
                "  linac serve backup --data ~/linac-data --to /backups/monday\n"
                "  linac serve backup --data /srv/linac --db-file /etc/linac/database --to /backups/monday",
                [](const CopyOptions& o) { return service::back_up(o.data, o.database, o.folder); });
  add_copy_verb(*verb, "restore",
                "Brings a backup into a new folder, and into SQLite there or an empty PostgreSQL database", "--from",
                "what `linac serve backup` made",
                "Examples:\n"
                "  linac serve restore --from /backups/monday --data ~/linac-data\n"
                "  linac serve restore --from /backups/monday --data /srv/linac --db-file /etc/linac/database",
                [](const CopyOptions& o) { return service::restore(o.folder, o.data, o.database); });
  add_token_verb(*verb);
  add_check_verb(*verb);
  verb->callback([verb, options, no_auth] {
    if (!verb->get_subcommands().empty()) return;
    options->authentication = !*no_auth;
    service::serve(*options);
  });
}

}  // namespace linac::cli
