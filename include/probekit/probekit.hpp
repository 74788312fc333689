// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_PROBEKIT_HPP
#define PROBEKIT_PROBEKIT_HPP

/// All of the library.
#include <probekit/aim.hpp>
#include <probekit/engine.hpp>
#include <probekit/error.hpp>
#include <probekit/histogram.hpp>
#include <probekit/object.hpp>
#include <probekit/pattern.hpp>
#include <probekit/symbols.hpp>

#endif  // PROBEKIT_PROBEKIT_HPP
