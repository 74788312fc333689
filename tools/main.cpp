// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <signal.h>

#include <string>
#include <vector>

#include "commands.hpp"

int main(int argc, char** argv) {
  // A reader that goes away is an error of write(), not the end of a run whose
  // probes are still attached.
  signal(SIGPIPE, SIG_IGN);
  // So is a file that may not grow any more.
  signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0),
                                           argv + argc);
  return probekit::tools::run(arguments);
}
