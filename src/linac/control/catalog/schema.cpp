#include "linac/control/catalog/schema.h"

#include <array>

namespace linac::catalog {
namespace {

// Times are milliseconds since 1970, 0 for "not yet". A double that may be NaN is NULL then, and whole in bytes beside
// it.
constexpr std::string_view kFirst = R"(
CREATE TABLE experiments (
  id {identity}, name {text} NOT NULL UNIQUE, artifact_location {text} NOT NULL, deleted BIGINT NOT NULL,
  created_ms BIGINT NOT NULL, updated_ms BIGINT NOT NULL);
CREATE TABLE experiment_tags (
  experiment BIGINT NOT NULL REFERENCES experiments(id), key {text} NOT NULL, value {text} NOT NULL,
  PRIMARY KEY (experiment, key)) {by_key};

CREATE TABLE runs (
  number {identity}, id {text} NOT NULL UNIQUE, experiment BIGINT NOT NULL REFERENCES experiments(id),
  name {text} NOT NULL, user_name {text} NOT NULL, state {text} NOT NULL, reason {text} NOT NULL,
  deleted BIGINT NOT NULL, created_ms BIGINT NOT NULL, started_ms BIGINT NOT NULL, ended_ms BIGINT NOT NULL,
  order_ms BIGINT NOT NULL);
CREATE INDEX runs_of_experiment ON runs (experiment, order_ms DESC, id);
CREATE INDEX runs_by_time ON runs (order_ms DESC, id);
CREATE TABLE run_tags (
  run BIGINT NOT NULL REFERENCES runs(number), key {text} NOT NULL, value {text} NOT NULL,
  PRIMARY KEY (run, key)) {by_key};
CREATE TABLE parameters (
  run BIGINT NOT NULL REFERENCES runs(number), key {text} NOT NULL, value {text} NOT NULL,
  PRIMARY KEY (run, key)) {by_key};
CREATE TABLE transitions (
  number {identity}, run BIGINT NOT NULL REFERENCES runs(number), time_ms BIGINT NOT NULL,
  from_state {text} NOT NULL, to_state {text} NOT NULL, reason {text} NOT NULL);
CREATE INDEX transitions_of_run ON transitions (run, number);

CREATE TABLE data_sets (
  number {identity}, experiment BIGINT NOT NULL REFERENCES experiments(id), name {text} NOT NULL, digest {text} NOT NULL,
  source_type {text} NOT NULL, source {text} NOT NULL, schema_text {text} NOT NULL, profile {text} NOT NULL,
  UNIQUE (experiment, name, digest));
CREATE TABLE inputs (
  run BIGINT NOT NULL REFERENCES runs(number), data_set BIGINT NOT NULL REFERENCES data_sets(number),
  PRIMARY KEY (run, data_set)) {by_key};
CREATE TABLE input_tags (
  run BIGINT NOT NULL, data_set BIGINT NOT NULL, key {text} NOT NULL, value {text} NOT NULL,
  PRIMARY KEY (run, data_set, key), FOREIGN KEY (run, data_set) REFERENCES inputs(run, data_set)) {by_key};

CREATE TABLE series (
  number {identity}, run BIGINT NOT NULL REFERENCES runs(number), key {text} NOT NULL,
  count BIGINT NOT NULL, not_finite BIGINT NOT NULL, in_order BIGINT NOT NULL,
  tail_first BIGINT NOT NULL, tail_blocks BIGINT NOT NULL, middle_first BIGINT NOT NULL, middle_blocks BIGINT NOT NULL,
  last {bytes} NOT NULL, last_value DOUBLE PRECISION, min_value DOUBLE PRECISION, max_value DOUBLE PRECISION,
  UNIQUE (run, key));
CREATE TABLE blocks (
  series BIGINT NOT NULL REFERENCES series(number), first BIGINT NOT NULL, count BIGINT NOT NULL,
  step_min BIGINT NOT NULL, step_max BIGINT NOT NULL, points {bytes} NOT NULL,
  PRIMARY KEY (series, first));
postgresql: ALTER TABLE series SET (fillfactor = 60);
postgresql: ALTER TABLE blocks ALTER COLUMN points SET STORAGE EXTERNAL;
CREATE TABLE senders (
  run BIGINT NOT NULL REFERENCES runs(number), sender {text} NOT NULL, sequence BIGINT NOT NULL,
  PRIMARY KEY (run, sender)) {by_key};

CREATE TABLE models (
  number {identity}, name {text} NOT NULL UNIQUE, description {text} NOT NULL, created_ms BIGINT NOT NULL,
  updated_ms BIGINT NOT NULL, versions BIGINT NOT NULL);
CREATE TABLE model_tags (
  model BIGINT NOT NULL REFERENCES models(number) ON DELETE CASCADE, key {text} NOT NULL, value {text} NOT NULL,
  PRIMARY KEY (model, key)) {by_key};
CREATE TABLE model_versions (
  model BIGINT NOT NULL REFERENCES models(number) ON DELETE CASCADE, version BIGINT NOT NULL, source {text} NOT NULL,
  run {text} NOT NULL, description {text} NOT NULL, user_name {text} NOT NULL, stage {text} NOT NULL,
  status {text} NOT NULL, created_ms BIGINT NOT NULL, updated_ms BIGINT NOT NULL,
  PRIMARY KEY (model, version));
CREATE INDEX model_versions_of_run ON model_versions (run);
CREATE TABLE version_tags (
  model BIGINT NOT NULL, version BIGINT NOT NULL, key {text} NOT NULL, value {text} NOT NULL,
  PRIMARY KEY (model, version, key),
  FOREIGN KEY (model, version) REFERENCES model_versions(model, version) ON DELETE CASCADE) {by_key};
CREATE TABLE model_aliases (
  model BIGINT NOT NULL, alias {text} NOT NULL, version BIGINT NOT NULL, PRIMARY KEY (model, alias),
  FOREIGN KEY (model, version) REFERENCES model_versions(model, version) ON DELETE CASCADE) {by_key};

CREATE TABLE jobs (
  run BIGINT NOT NULL PRIMARY KEY REFERENCES runs(number), job {text} NOT NULL, priority BIGINT NOT NULL,
  cores BIGINT NOT NULL, memory_mb BIGINT NOT NULL, gpus BIGINT NOT NULL, seconds_max BIGINT NOT NULL,
  cost_max DOUBLE PRECISION NOT NULL, attempts_max BIGINT NOT NULL, submitted_ms BIGINT NOT NULL,
  attempts BIGINT NOT NULL, attempts_before BIGINT NOT NULL, seconds_used DOUBLE PRECISION NOT NULL,
  cancel_wished BIGINT NOT NULL, waiting BIGINT NOT NULL);
CREATE INDEX jobs_waiting ON jobs (waiting);
CREATE TABLE dependencies (
  run BIGINT NOT NULL REFERENCES jobs(run), needs BIGINT NOT NULL REFERENCES runs(number), PRIMARY KEY (run, needs)) {by_key};
CREATE INDEX dependencies_on ON dependencies (needs);
CREATE TABLE submissions (
  user_name {text} NOT NULL, key {text} NOT NULL, run BIGINT NOT NULL REFERENCES runs(number),
  PRIMARY KEY (user_name, key)) {by_key};
CREATE TABLE attempts (
  run BIGINT NOT NULL REFERENCES jobs(run), number BIGINT NOT NULL, started_ms BIGINT NOT NULL, ended_ms BIGINT NOT NULL,
  outcome {text} NOT NULL, seconds DOUBLE PRECISION NOT NULL, reason {text} NOT NULL, PRIMARY KEY (run, number)) {by_key};
CREATE INDEX attempts_by_end ON attempts (ended_ms);

CREATE TABLE users (
  name {text} NOT NULL PRIMARY KEY, role {text} NOT NULL, account {text} NOT NULL, disabled BIGINT NOT NULL,
  created_ms BIGINT NOT NULL) {by_key};
CREATE TABLE tokens (
  id {text} NOT NULL PRIMARY KEY, user_name {text} NOT NULL REFERENCES users(name), note {text} NOT NULL,
  scope {text} NOT NULL, hash {text} NOT NULL, created_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL,
  used_ms BIGINT NOT NULL) {by_key};
CREATE INDEX tokens_of_user ON tokens (user_name);
CREATE TABLE audit_log (
  number {identity}, time_ms BIGINT NOT NULL, user_name {text} NOT NULL, action {text} NOT NULL, object {text} NOT NULL,
  origin {text} NOT NULL);

CREATE TABLE writer (id BIGINT NOT NULL PRIMARY KEY, owner {text} NOT NULL, number BIGINT NOT NULL);
INSERT INTO writer (id, owner, number) VALUES (1, '', 0);
INSERT INTO experiments (id, name, artifact_location, deleted, created_ms, updated_ms) VALUES (0, 'Default', '', 0, 0, 0);
)";

// Models that runs logged, as MLflow 3 keeps them beside the registry.
constexpr std::string_view kSecond = R"(
CREATE TABLE logged_models (
  number {identity}, id {text} NOT NULL UNIQUE, experiment BIGINT NOT NULL REFERENCES experiments(id), name {text} NOT NULL,
  type {text} NOT NULL, run {text} NOT NULL, status {text} NOT NULL, deleted BIGINT NOT NULL, created_ms BIGINT NOT NULL,
  updated_ms BIGINT NOT NULL);
CREATE INDEX logged_models_of_experiment ON logged_models (experiment, created_ms DESC);
CREATE TABLE logged_model_tags (
  model BIGINT NOT NULL REFERENCES logged_models(number), key {text} NOT NULL, value {text} NOT NULL,
  PRIMARY KEY (model, key)) {by_key};
CREATE TABLE logged_model_parameters (
  model BIGINT NOT NULL REFERENCES logged_models(number), key {text} NOT NULL, value {text} NOT NULL,
  PRIMARY KEY (model, key)) {by_key};
CREATE TABLE logged_model_metrics (
  model BIGINT NOT NULL REFERENCES logged_models(number), run {text} NOT NULL, key {text} NOT NULL, data_set {text} NOT NULL,
  digest {text} NOT NULL, last {bytes} NOT NULL, last_value DOUBLE PRECISION, PRIMARY KEY (model, run, key, data_set, digest));
CREATE TABLE run_models (
  run BIGINT NOT NULL REFERENCES runs(number), model {text} NOT NULL, output BIGINT NOT NULL, step BIGINT NOT NULL,
  PRIMARY KEY (run, model, output)) {by_key};
)";

// How far the catalog has a run's folder (a tag before), how runs began, and what a user may have at most.
constexpr std::string_view kThird = R"(
CREATE TABLE folder_places (run BIGINT NOT NULL PRIMARY KEY REFERENCES runs(number), place {text} NOT NULL) {by_key};
INSERT INTO folder_places (run, place) SELECT run, value FROM run_tags WHERE key = 'linac.cursor';
DELETE FROM run_tags WHERE key = 'linac.cursor';
INSERT INTO transitions (run, time_ms, from_state, to_state, reason) SELECT r.number, r.created_ms, '', COALESCE(
  (SELECT t.from_state FROM transitions t WHERE t.run = r.number ORDER BY t.number LIMIT 1), r.state), '' FROM runs r;
ALTER TABLE users ADD COLUMN jobs_max BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN cores_max BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN core_hours_max DOUBLE PRECISION NOT NULL DEFAULT 0;
)";

// Who made a thing, and so may change it; '' for what was there before: admins alone.
constexpr std::string_view kFourth = R"(
ALTER TABLE experiments ADD COLUMN user_name {text} NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN user_name {text} NOT NULL DEFAULT '';
UPDATE models SET user_name = COALESCE((SELECT v.user_name FROM model_versions v WHERE v.model = models.number
  ORDER BY v.version LIMIT 1), '');
ALTER TABLE logged_models ADD COLUMN user_name {text} NOT NULL DEFAULT '';
UPDATE logged_models SET user_name = COALESCE((SELECT r.user_name FROM runs r WHERE r.id = logged_models.run), '');
CREATE TABLE artifact_owners (place {text} NOT NULL PRIMARY KEY, user_name {text} NOT NULL) {by_key};
)";

// Who may read what: what was there before stays everybody's, but "Default" of a catalog that nobody has used. Where
// the files of versions lie, by which who shares a model shares them. And what one user says of a data set is not told
// another who names it: SQLite changes a constraint by making the table anew, and those that refer to it.
constexpr std::string_view kFifth = R"(
ALTER TABLE experiments ADD COLUMN shared BIGINT NOT NULL DEFAULT 0;
UPDATE experiments SET shared = 1 WHERE id <> 0 OR EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM runs);
CREATE INDEX experiments_shared ON experiments (id) WHERE shared = 1;
ALTER TABLE models ADD COLUMN shared BIGINT NOT NULL DEFAULT 0;
UPDATE models SET shared = 1;
ALTER TABLE model_versions ADD COLUMN files {text} NOT NULL DEFAULT '';
UPDATE model_versions SET files = source WHERE source LIKE 'mlflow-artifacts:/%' AND length(source) <= 500;
CREATE INDEX model_versions_files ON model_versions (files);
INSERT INTO artifact_owners (place, user_name) SELECT substr(v.files, 19), MIN(m.user_name) FROM model_versions v
  JOIN models m ON m.number = v.model WHERE v.files LIKE 'mlflow-artifacts:/models/%/%' AND m.user_name <> ''
  GROUP BY substr(v.files, 19) ON CONFLICT (place) DO NOTHING;

postgresql: ALTER TABLE data_sets ADD COLUMN user_name {text} NOT NULL DEFAULT '';
postgresql: ALTER TABLE data_sets DROP CONSTRAINT data_sets_experiment_name_digest_key;
postgresql: ALTER TABLE data_sets ADD UNIQUE (experiment, user_name, name, digest);
sqlite: CREATE TABLE new_data_sets (
sqlite:   number {identity}, experiment BIGINT NOT NULL REFERENCES experiments(id), name {text} NOT NULL,
sqlite:   digest {text} NOT NULL, source_type {text} NOT NULL, source {text} NOT NULL, schema_text {text} NOT NULL,
sqlite:   profile {text} NOT NULL, user_name {text} NOT NULL DEFAULT '', UNIQUE (experiment, user_name, name, digest));
sqlite: CREATE TABLE new_inputs (
sqlite:   run BIGINT NOT NULL REFERENCES runs(number), data_set BIGINT NOT NULL REFERENCES new_data_sets(number),
sqlite:   PRIMARY KEY (run, data_set)) {by_key};
sqlite: CREATE TABLE new_input_tags (
sqlite:   run BIGINT NOT NULL, data_set BIGINT NOT NULL, key {text} NOT NULL, value {text} NOT NULL,
sqlite:   PRIMARY KEY (run, data_set, key), FOREIGN KEY (run, data_set) REFERENCES new_inputs(run, data_set)) {by_key};
sqlite: INSERT INTO new_data_sets (number, experiment, name, digest, source_type, source, schema_text, profile)
sqlite:   SELECT number, experiment, name, digest, source_type, source, schema_text, profile FROM data_sets;
sqlite: INSERT INTO new_inputs SELECT run, data_set FROM inputs;
sqlite: INSERT INTO new_input_tags SELECT run, data_set, key, value FROM input_tags;
sqlite: DROP TABLE input_tags;
sqlite: DROP TABLE inputs;
sqlite: DROP TABLE data_sets;
sqlite: ALTER TABLE new_data_sets RENAME TO data_sets;
sqlite: ALTER TABLE new_inputs RENAME TO inputs;
sqlite: ALTER TABLE new_input_tags RENAME TO input_tags;
)";

// What users leave with the service for their jobs, sealed by a key that is not in here (control/service/secret_box.h).
constexpr std::string_view kSixth = R"(
CREATE TABLE secrets (
  user_name {text} NOT NULL, name {text} NOT NULL, kind {text} NOT NULL, sealed {bytes} NOT NULL,
  size BIGINT NOT NULL, created_ms BIGINT NOT NULL, changed_ms BIGINT NOT NULL, used_ms BIGINT NOT NULL,
  PRIMARY KEY (user_name, name)) {by_key};
)";

// Where a job is carried out, and by agents with which tags.
constexpr std::string_view kSeventh = R"(
ALTER TABLE jobs ADD COLUMN place {text} NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN tags {text} NOT NULL DEFAULT '';
)";

// Studies of hyper-parameters: what was asked and told of them line by line (control/study/ledger.h), and who has their
// trials.
constexpr std::string_view kEighth = R"(
CREATE TABLE studies (
  number {identity}, name {text} NOT NULL UNIQUE, user_name {text} NOT NULL,
  experiment BIGINT NOT NULL REFERENCES experiments(id), file {text} NOT NULL, created_ms BIGINT NOT NULL,
  updated_ms BIGINT NOT NULL, lines BIGINT NOT NULL, trials BIGINT NOT NULL, told BIGINT NOT NULL);
CREATE TABLE study_lines (
  study BIGINT NOT NULL REFERENCES studies(number), number BIGINT NOT NULL, line {text} NOT NULL,
  PRIMARY KEY (study, number)) {by_key};
CREATE TABLE study_leases (
  study BIGINT NOT NULL REFERENCES studies(number), trial BIGINT NOT NULL, holder {text} NOT NULL,
  until_ms BIGINT NOT NULL, given BIGINT NOT NULL, PRIMARY KEY (study, trial)) {by_key};
)";

// Studies that the queue carries out, and the runs of their trials (control/catalog/study_jobs.h).
constexpr std::string_view kNinth = R"(
CREATE TABLE submitted_studies (
  study BIGINT PRIMARY KEY REFERENCES studies(number), state {text} NOT NULL, reason {text} NOT NULL,
  wishes {text} NOT NULL, submitted_ms BIGINT NOT NULL);
CREATE TABLE study_jobs (
  study BIGINT NOT NULL REFERENCES studies(number), trial BIGINT NOT NULL, run BIGINT NOT NULL REFERENCES runs(number),
  ending {text} NOT NULL, why {text} NOT NULL, PRIMARY KEY (study, trial)) {by_key};
)";

// Places that MLflow's client would send its token to (artifact_location.h) are given to nobody any more: experiments
// have the service's own, and what they had in a tag; of a version it stays to be read, and no client asks it.
constexpr std::string_view kTenth = R"(
INSERT INTO experiment_tags (experiment, key, value)
  SELECT id, 'linac.former_location', artifact_location FROM experiments
  WHERE lower(artifact_location) LIKE 'http://%' OR lower(artifact_location) LIKE 'https://%'
  OR (lower(artifact_location) LIKE 'mlflow-artifacts://%' AND artifact_location NOT LIKE '%:///%')
  ON CONFLICT (experiment, key) DO NOTHING;
UPDATE experiments SET artifact_location = ''
  WHERE lower(artifact_location) LIKE 'http://%' OR lower(artifact_location) LIKE 'https://%'
  OR (lower(artifact_location) LIKE 'mlflow-artifacts://%' AND artifact_location NOT LIKE '%:///%');
UPDATE model_versions SET source = 'refused:' || source
  WHERE lower(source) LIKE 'http://%' OR lower(source) LIKE 'https://%'
  OR (lower(source) LIKE 'mlflow-artifacts://%' AND source NOT LIKE '%:///%');
)";

// Hosts that computed wrongly (host_marks.h); user_name: whose jobs keep away, '': everybody's.
constexpr std::string_view kEleventh = R"(
CREATE TABLE host_marks (
  host {text} NOT NULL, user_name {text} NOT NULL, worker {text} NOT NULL, core {text} NOT NULL, what {text} NOT NULL,
  run {text} NOT NULL, marked_ms BIGINT NOT NULL, PRIMARY KEY (host, user_name)) {by_key};
)";

constexpr std::array kMigrations{kFirst,   kSecond, kThird, kFourth, kFifth,   kSixth,
                                 kSeventh, kEighth, kNinth, kTenth,  kEleventh};

// Those that others refer to in front.
constexpr std::array<std::string_view, 39> kTables{"experiments",
                                                   "experiment_tags",
                                                   "runs",
                                                   "run_tags",
                                                   "parameters",
                                                   "transitions",
                                                   "data_sets",
                                                   "inputs",
                                                   "input_tags",
                                                   "series",
                                                   "blocks",
                                                   "senders",
                                                   "models",
                                                   "model_tags",
                                                   "model_versions",
                                                   "version_tags",
                                                   "model_aliases",
                                                   "jobs",
                                                   "dependencies",
                                                   "submissions",
                                                   "attempts",
                                                   "users",
                                                   "tokens",
                                                   "audit_log",
                                                   "writer",
                                                   "logged_models",
                                                   "logged_model_tags",
                                                   "logged_model_parameters",
                                                   "logged_model_metrics",
                                                   "run_models",
                                                   "folder_places",
                                                   "artifact_owners",
                                                   "secrets",
                                                   "studies",
                                                   "study_lines",
                                                   "study_leases",
                                                   "submitted_studies",
                                                   "study_jobs",
                                                   "host_marks"};

}  // namespace

std::span<const std::string_view> migrations() {
  return kMigrations;
}

std::span<const std::string_view> tables() {
  return kTables;
}

}  // namespace linac::catalog
