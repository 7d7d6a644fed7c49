#include "linac/base/job/secret_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "linac/base/base/error.h"

namespace linac::job {
namespace {

// Of the linker, the C library, shells, interpreters, and the libraries that compute.
constexpr std::string_view kRefusedBeginnings[] = {
    "LD_",    "GLIBC_",   "MALLOC_", "GCONV_",  "LC_",   "BASH",  "PYTHON", "PERL",     "RUBY",  "NODE_",
    "JAVA_",  "XDG_",     "CUDA_",   "NVIDIA_", "NCCL_", "OMP_",  "GOMP_",  "KMP_",     "MKL_",  "OPENBLAS",
    "TORCH_", "PYTORCH_", "ATEN_",   "C10_",    "GLOG_", "DNNL_", "HDF5_",  "OPENSSL_", "DYLD_", "LINAC_"};
constexpr std::string_view kRefusedNames[] = {
    "PATH",          "HOME",          "USER",        "LOGNAME",     "SHELL",       "PWD",
    "OLDPWD",        "IFS",           "ENV",         "CDPATH",      "PS4",         "TMPDIR",
    "TMP",           "TEMP",          "LANG",        "LANGUAGE",    "TZ",          "TZDIR",
    "NLSPATH",       "LOCPATH",       "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "TERM",
    "EDITOR",        "CLASSPATH",     "MASTER_ADDR", "MASTER_PORT", "RANK",        "WORLD_SIZE",
    "SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR"};
// At which service a job looks up catalog:// addresses, and as whom.
constexpr std::string_view kOfTheService[] = {"LINAC_TOKEN", "LINAC_SERVER"};

constexpr std::string_view kFiles[] = {"X509_USER_PROXY", "X509_USER_CERT",
                                       "X509_USER_KEY",   "GOOGLE_APPLICATION_CREDENTIALS",
                                       "RUCIO_CONFIG",    "KRB5CCNAME"};

template <class List>
bool has(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

}  // namespace

std::string why_no_secret_name(std::string_view name) {
  const auto capital = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool good = !name.empty() && name.size() <= kSecretNameMax && capital(name.front()) &&
                    std::all_of(name.begin(), name.end(), [&](char c) { return capital(c) || (c >= '0' && c <= '9'); });
  if (!good)
    return fmt::format("it is no name of an environment variable: A-Z, 0-9 and _, no digit in front, at most {}",
                       kSecretNameMax);
  if (has(kOfTheService, name)) return "";
  const bool begins = std::any_of(std::begin(kRefusedBeginnings), std::end(kRefusedBeginnings),
                                  [&](std::string_view beginning) { return name.starts_with(beginning); });
  if (!begins && !has(kRefusedNames, name)) return "";
  return "variables of this name change how programs run, so they are no place for a secret; take another";
}

bool names_a_file(std::string_view name) {
  return has(kFiles, name) || name.ends_with("_FILE");
}

std::vector<std::string> missing_in_environment(std::span<const std::string> names) {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (std::getenv(name.c_str()) == nullptr) missing.push_back(name);
  return missing;
}

void need_in_environment(std::span<const std::string> names) {
  for (const std::string& name : missing_in_environment(names))
    throw user_error(fmt::format(
        "[secrets] {} is not in the environment, and the job asks for it; export it{}, or leave it out of 'secrets'",
        name, names_a_file(name) ? " (the path of a file)" : ""));
}

}  // namespace linac::job
