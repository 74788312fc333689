// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_AIM_HPP
#define PROBEKIT_AIM_HPP

#include <optional>
#include <probekit/engine.hpp>
#include <probekit/pattern.hpp>
#include <probekit/symbols.hpp>
#include <span>

namespace probekit {

/// From patterns to a target set: what a probe is attached to.
struct Aim {
  SymbolTable table;    ///< owns the names in `selection`
  Selection selection;  ///< what the engine refused is under `refused`
  /// The engine accepted all of selection.targets, in that order: the index of
  /// a target is its index there, and its cookie is zero. Nothing where
  /// nothing is left to probe.
  std::optional<TargetSet> targets;
};

/// Selects functions of the running kernel and hands them to the engine. Reads
/// no more of the kernel than it must: for a small selection the engine's word
/// replaces ftrace's list, which takes the kernel longer to print than all else
/// together. Throws what select(), SymbolTable::of_running_kernel() and
/// Engine::make_targets() throw.
Aim aim(const Engine& engine, std::span<const Pattern> patterns,
        std::span<const Pattern> excludes = {},
        const SelectOptions& options = {});

}  // namespace probekit

#endif  // PROBEKIT_AIM_HPP
