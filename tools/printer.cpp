// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "printer.hpp"

#include <time.h>

#include <string>
#include <utility>

namespace probekit::tools {
namespace {

std::string clock_time() {
  const time_t now = ::time(nullptr);
  struct tm local {};
  ::localtime_r(&now, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min,
                     local.tm_sec);
}

}  // namespace

Printer::Printer(const Options& options, Output& output,
                 const Selection& selection)
    : options_(options),
      output_(output),
      targets_(selection.targets),
      names_(selection) {}

std::vector<Row> Printer::rows_of(std::span<const Reading> readings) const {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Reading reading =
        before_.empty() ? readings[i] : readings[i].since(before_[i]);
    if (reading.calls == 0) continue;
    rows.push_back({names_.of(targets_[i]), std::string(targets_[i].name),
                    std::string(targets_[i].module), targets_[i].address,
                    reading});
  }
  sort_rows(rows);
  return rows;
}

void Printer::print(std::vector<Row> rows) {
  const bool intervals = options_.interval.has_value();
  if (options_.json) {
    output_.write(
        json_rows(rows, intervals ? std::optional(interval_) : std::nullopt));
    return;
  }
  std::string text;
  if (intervals) {
    text = fmt::format("{} interval {}{}\n", clock_time(), interval_,
                       rows.empty() ? ": no calls" : "");
  }
  text += text_rows(rows, options_.histogram);
  if (!text.empty()) output_.write(text + '\n');
}

void Printer::interval(std::vector<Reading> readings) {
  ++interval_;
  print(rows_of(readings));
  before_ = std::move(readings);
}

void Printer::finish(std::vector<Reading> readings, Summary summary) {
  for (const Reading& reading : readings) {
    summary.calls += reading.calls;
    if (reading.calls != 0) ++summary.called;
  }
  ++interval_;
  print(rows_of(readings));
  output_.write(options_.json ? json_summary(summary) : text_summary(summary));
}

}  // namespace probekit::tools
