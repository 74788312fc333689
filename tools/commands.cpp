// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "commands.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <probekit/error.hpp>
#include <probekit/object.hpp>

#include "help.hpp"
#include "output.hpp"
#include "values.hpp"

namespace probekit::tools {
namespace {

int print(const std::string& text) {
  Output("").write(text);
  return kDone;
}

int dispatch(const Options& options) {
  switch (options.command) {
    case Command::check:
      return run_check(options);
    case Command::list:
      return run_list(options);
    case Command::count:
      return run_count(options);
    case Command::latency:
      return run_latency(options);
    case Command::inject:
      return run_inject(options);
    case Command::status:
      return run_status(options);
  }
  return kFailed;
}

// What the library logs while a command runs; said only when that fails, for
// it is long and means little otherwise.
class Log {
 public:
  Log() {
    set_log_sink([this](std::string_view text) { text_ += text; });
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() { set_log_sink({}); }

  void print() const {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const auto end = rest.find('\n');
      diagnose(printable(rest.substr(0, end)));
      rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    }
  }

 private:
  std::string text_;
};

int dispatch_verbosely(const Options& options) {
  const Log log;
  try {
    return dispatch(options);
  } catch (const Error&) {
    log.print();
    throw;
  }
}

int run_command(std::span<const std::string> arguments) {
  if (arguments.empty()) {
    throw UsageError("run", "", 0, "no COMMAND is given",
                     "see probekit --help");
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") return print(general_help());
  if (first == "--version") return print("probekit " PROBEKIT_VERSION "\n");
  const CommandSpec& command = find_command(first);
  const Options options = parse_options(command, arguments.subspan(1));
  if (options.help) return print(command_help(command));
  return options.verbose ? dispatch_verbosely(options) : dispatch(options);
}

}  // namespace

int run(std::span<const std::string> arguments) noexcept try {
  return run_command(arguments);
} catch (const UsageError& error) {
  diagnose(error.what());
  return kWrongUsage;
} catch (const UnsupportedError& error) {
  diagnose(error.what());
  return kUnsupported;
} catch (const OutputError& error) {
  if (error.code().value() != EPIPE) diagnose(error.what());
  return kFailed;
} catch (const std::bad_alloc&) {
  diagnose("out of memory; use a narrower PATTERN");
  return kFailed;
} catch (const std::exception& error) {
  diagnose(error.what());
  return kFailed;
}

}  // namespace probekit::tools
