#pragma once
// What a package brings along, and what hosts keep at different places: said to libraries by the variables that they
// ask for. Before the program has threads; what the user has set stays.

#include <filesystem>

namespace linac::cli {

/// `program`: the folder of the program. FONTCONFIG_FILE, where fonts lie beside it (../share/linac/fonts, as the
/// archive of `make dist` has them). SSL_CERT_FILE, where certificates are not at the place that libraries of Debian
/// know; the places are those of Go's crypto/x509 (root_linux.go).
void find_surroundings(const std::filesystem::path& program);

}  // namespace linac::cli
