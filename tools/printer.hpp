// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_PRINTER_HPP
#define PROBEKIT_TOOLS_PRINTER_HPP

#include <cstdint>
#include <probekit/pattern.hpp>
#include <span>
#include <vector>

#include "names.hpp"
#include "options.hpp"
#include "output.hpp"
#include "report.hpp"

namespace probekit::tools {

/// Prints readings as the options say: one at the end, or one per interval.
class Printer {
 public:
  Printer(const Options& options, Output& output, const Selection& selection);

  /// Readings of all targets so far; prints what is new in this interval.
  void interval(std::vector<Reading> readings);
  /// The last readings, and the summary: the fields that come from readings
  /// are filled in.
  void finish(std::vector<Reading> readings, Summary summary);

 private:
  std::vector<Row> rows_of(std::span<const Reading> readings) const;
  void print(std::vector<Row> rows);

  const Options& options_;
  Output& output_;
  std::span<const Function> targets_;
  Names names_;
  std::vector<Reading> before_;
  std::uint64_t interval_ = 0;
};

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_PRINTER_HPP
