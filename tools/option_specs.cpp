// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The tables of commands and options: parser and help both read them.
#include <array>

#include "options.hpp"

namespace probekit::tools {
namespace {

constexpr unsigned kCheck = static_cast<unsigned>(Command::check);
constexpr unsigned kList = static_cast<unsigned>(Command::list);
constexpr unsigned kCount = static_cast<unsigned>(Command::count);
constexpr unsigned kLatency = static_cast<unsigned>(Command::latency);
constexpr unsigned kStatus = static_cast<unsigned>(Command::status);
constexpr unsigned kInject = static_cast<unsigned>(Command::inject);
constexpr unsigned kMeasure = kCount | kLatency | kInject;
constexpr unsigned kSelect = kMeasure | kList;
constexpr unsigned kAll = kSelect | kCheck | kStatus;

constexpr std::array kCommands{
    CommandSpec{Command::check, "check", "",
                "what this machine can do, and what to do about the rest",
                "probekit check"},
    CommandSpec{Command::list, "list", "PATTERN...",
                "functions that the patterns select",
                "probekit list --why 'vfs_*' 're:^ext4_.*write'"},
    CommandSpec{Command::count, "count", "PATTERN... [-- PROGRAM ARGS...]",
                "calls of each function",
                "probekit count 'vfs_*' -- ls -l /tmp"},
    CommandSpec{Command::latency, "latency", "PATTERN... [-- PROGRAM ARGS...]",
                "time that calls of each function take",
                "probekit latency -d 5 --min 10us vfs_read vfs_write"},
    CommandSpec{Command::inject, "inject", "PATTERN... [-- PROGRAM ARGS...]",
                "let functions return a value without having run",
                "probekit inject vfs_fsync_range --return -EIO --every 10 "
                "-- make"},
    CommandSpec{Command::status, "status", "",
                "live probes of the whole machine, whoever owns them",
                "probekit status --json"},
};

constexpr std::array kOptions{
    OptionSpec{"exclude", 'x', "PATTERN", kSelect, true,
               "leave these functions out (repeatable)"},
    OptionSpec{"with-arg", 0, "TYPE", kSelect, false,
               "only functions that take a TYPE *, by BTF"},
    OptionSpec{"kind", 0, "KIND", kSelect & ~kInject, false,
               "what carries the probes: fprobe, kprobe or kretprobe"},
    OptionSpec{"force", 0, "", kSelect, false,
               "also functions that handlers themselves run on"},
    OptionSpec{"why", 0, "", kList, false,
               "also functions that cannot be probed, and why"},
    OptionSpec{"pid", 'p', "PID", kMeasure, false,
               "only this process; the run ends with it"},
    OptionSpec{"tid", 't', "TID", kMeasure, false,
               "only this thread; the run ends with it"},
    OptionSpec{"comm", 0, "NAME", kMeasure, false, "only threads of this name"},
    OptionSpec{"cgroup", 0, "PATH", kMeasure, false,
               "only processes in this cgroup or below it"},
    OptionSpec{"all-processes", 'a', "", kMeasure, false,
               "not only PROGRAM and its descendants"},
    OptionSpec{"min", 0, "DURATION", kLatency, false,
               "leave out shorter calls: 250ns, 10us, 1.5ms, 2s"},
    OptionSpec{"maxactive", 0, "N", kLatency, false,
               "calls that may be in flight at once"},
    OptionSpec{"duration", 'd', "SECONDS", kMeasure, false,
               "end after so long, and end PROGRAM"},
    OptionSpec{"interval", 'i', "SECONDS", kMeasure, false,
               "print each interval's own figures"},
    OptionSpec{"histogram", 0, "WHICH", kLatency, false,
               "all, none, or the top ten functions: top (default)"},
    OptionSpec{"return", 0, "VALUE", kInject, false,
               "what the functions return: -ENOMEM, 0, 0x1f"},
    OptionSpec{"every", 0, "N", kInject, false, "only each N-th call"},
    OptionSpec{"probability", 0, "P", kInject, false,
               "only so many of all calls: 0.01, 1%"},
    OptionSpec{"times", 0, "N", kInject, false, "only the first N calls"},
    OptionSpec{"disable", 0, "ID", kStatus, false,
               "let this probe rest: no hits, no cost, still attached"},
    OptionSpec{"enable", 0, "ID", kStatus, false, "wake it up again"},
    OptionSpec{"json", 0, "", kAll, false, "print JSON Lines"},
    OptionSpec{"output", 'o', "FILE", kAll, false,
               "print to FILE, not to standard output"},
    OptionSpec{"verbose", 'v', "", kAll, false, "say more on standard error"},
    OptionSpec{"help", 'h', "", kAll, false, "print this text"},
};

}  // namespace

std::span<const CommandSpec> commands() { return kCommands; }

std::span<const OptionSpec> option_specs() { return kOptions; }

}  // namespace probekit::tools
