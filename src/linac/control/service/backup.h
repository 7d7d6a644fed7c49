#pragma once
// All that a service keeps, as a folder: `linac serve backup` and `restore`.
//
//   BACKUP/backup.json    when, by which linac, how many rows of each table, how many files and bytes
//   BACKUP/books.db       the catalog (SQLite), whatever database it was in
//   BACKUP/data/...       artefacts and the files of queued runs, as they lie below `--data`
//
// Links are copied as links. What a run has linked of the service's own files, keys among them, is left out with a
// warning, as is what the account of the backup made unreadable itself.
//
// So a backup of SQLite restores into PostgreSQL and the other way round. Both functions show their progress.

#include <cstdint>
#include <filesystem>
#include <string>

namespace linac::service {

struct BackupSummary {
  int64_t runs = 0, rows = 0, files = 0, bytes = 0;
};

/// Copies the catalog as it is at one moment, then the files; a service may use it meanwhile, and files may be newer
/// than the catalog. `to` appears when it is whole. `database` empty: SQLite in `data`. User error if `to` exists or
/// there is no catalog, environment error for what cannot be read or written.
BackupSummary back_up(const std::filesystem::path& data, const std::string& database, const std::filesystem::path& to);

/// The way back, into a `data` and a database that have nothing yet, and counts what arrived. User error if they have,
/// if `from` is no backup or a newer linac's, data error if rows or files are missing from it.
BackupSummary restore(const std::filesystem::path& from, const std::filesystem::path& data,
                      const std::string& database);

}  // namespace linac::service
