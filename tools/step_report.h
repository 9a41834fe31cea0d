#pragma once

#include <span>
#include <string>

#include "core/runtime/session.h"

namespace towerflow::tools {

/// Where the time of a step goes, as a table whose rows add up to the step: kernels by op, with
/// their rate and the share of the best rate each of them reached in any of `steps`, passes over
/// memory, updates of variables, waits, and what is left. With several compute queues each row is
/// their mean.
std::string step_table(std::span<const RunMetadata> steps);

/// The floor of a step, below which it cannot come: for each product the best time that any kernel
/// took for it in `steps` or in `others`, which are steps of the same graph with other kernels, and
/// what passes and updates move at `bytes_per_second`. A line that names its share of the step.
std::string step_floor(std::span<const RunMetadata> steps, std::span<const RunMetadata> others,
                       double bytes_per_second);

/// The share of a step's time that no row but the last of `step_table` accounts for.
double unattributed_share(std::span<const RunMetadata> steps);

/// A step as a picture: one row an engine, time from left to right.
std::string step_timeline(const RunMetadata& step, std::size_t width = 72);

/// Who holds what: the devices of a session with what a step keeps on each.
std::string holdings(Session& session, std::span<const Fetch> fetches);

/// What crosses between memories in a step: the largest values, and sums by route.
std::string crossings(Session& session, std::span<const Fetch> fetches, std::size_t shown = 12);

/// How much of the work of backward was still to come when the first gradient left its device, in
/// words; "" where nothing leaves.
std::string first_departure(const RunMetadata& step);

/// Writes a step as chrome://tracing and Perfetto show it.
void write_trace(const RunMetadata& step, const std::string& path);

}  // namespace towerflow::tools
