// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_PROCESS_HPP
#define PROBEKIT_TOOLS_PROCESS_HPP

#include <sys/types.h>

#include <probekit/engine.hpp>

namespace probekit::tools {

/// A descriptor that becomes readable when the process ends. Throws Error,
/// which says so, when there is none, or when `pid` names another thread than
/// the first of its process.
FileDescriptor watch_process(pid_t pid);

/// The same for a thread. An empty descriptor where the kernel cannot watch
/// threads that are not the first of their process.
FileDescriptor watch_thread(pid_t tid);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_PROCESS_HPP
