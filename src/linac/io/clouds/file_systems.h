#pragma once
// The file systems of the clouds, as the environment says. Keys stay in memory.

#include <arrow/filesystem/filesystem.h>

#include <memory>
#include <string>
#include <vector>

namespace linac::clouds {

struct Cloud {
  std::string scheme;  // "gs"
  std::shared_ptr<arrow::fs::FileSystem> files;
  std::vector<std::string> secrets;  // that no message may have
  std::string endpoint;              // what tells its files from those of another server
  bool writes_at_close = false;      // a file in the making is not seen
  bool knows_folders = true;         // else only whole listings tell which there are
};

/// User error naming the variable that makes no sense. GS_NO_SIGN_REQUEST and STORAGE_EMULATOR_HOST, else Google's
/// default credentials (GOOGLE_APPLICATION_CREDENTIALS, ...).
Cloud open_google();
/// The same: AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY,
/// AZURE_STORAGE_SAS_TOKEN, AZURE_NO_SIGN_REQUEST, else Azure's default credentials.
Cloud open_azure();

}  // namespace linac::clouds
