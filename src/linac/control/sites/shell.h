#pragma once
// A shell at a place: here, or where the user's own ssh leads. Scripts go to its standard input, so that nothing of
// them stands in a command line. A script is read whole before it begins: one that is cut off does nothing.
// Thread-safe.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace linac::sites {

struct ShellAnswer {
  int status = 0;           // 128 + n for signal n
  bool began = false;       // the script was read and begun; else `out` is what something else has said
  std::string out, errors;  // `out`: of the script alone, without what start-up files of shells print before it

  /// What stands behind "linac: KEY " in lines of `out`, in their order.
  std::vector<std::string> said(const std::string& key) const;
  /// The last of them; "" if there is none.
  std::string last(const std::string& key) const;
};

class Shell {
 public:
  /// Of this host.
  Shell() : words_{"sh", "-s"}, name_("this host") {}
  /// `ssh`: the user's command with its options; it may ask for passwords on the terminal.
  Shell(const std::vector<std::string>& ssh, const std::string& host);

  const std::string& name() const { return name_; }
  /// For people who want to do the same.
  std::string command() const;

  /// Environment error if it cannot be started, does not come to its end within `patience`, or says more than 64 MiB.
  ShellAnswer run(const std::string& script, std::chrono::seconds patience = std::chrono::seconds(120)) const;
  /// The same; environment error with what it says if its status is not 0, or if it never began.
  ShellAnswer need(const std::string& what, const std::string& script) const;
  /// The same for what is too large to be kept: `take` gets what the script says, in pieces; then the answer has none
  /// of it. What `take` throws ends the script. `patience`: for a word of it.
  void stream(const std::string& what, const std::string& script, const std::function<void(std::string_view)>& take,
              std::chrono::seconds patience = std::chrono::seconds(120)) const;
  /// Runs a script there, in its command line, that reads the content of a file of this host. Environment error as
  /// above.
  void send(const std::string& what, const std::string& script, const std::string& file) const;
  /// Unpacks the archive (tar) that a script there writes to its output into a folder of this host. Environment error
  /// as above.
  void unpack(const std::string& what, const std::string& script, const std::string& folder) const;

 private:
  ShellAnswer converse(const std::string& script, std::chrono::seconds patience,
                       const std::function<void(std::string_view)>& take) const;
  void need_good(const std::string& what, const ShellAnswer& answer) const;

  std::vector<std::string> words_;
  std::string name_;
};

}  // namespace linac::sites
