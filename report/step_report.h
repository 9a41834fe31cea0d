#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/runtime/session.h"

namespace towerflow::report {

/// Returns a table of a step's time whose rows add up to the step: kernels per op, with their rate
/// and its share of the best rate that each kernel reached in any of `steps`, passes over memory,
/// updates of variables, waits, and the rest. What loops ran is in the rows of its kernels; the row
/// of a loop is the rest of its time. With several compute queues, each row is the mean over them.
std::string step_table(std::span<const RunMetadata> steps);

/// Steps without concurrent products, each of which ran on `threads` threads.
struct IsolatedSteps {
  int threads = 1;
  std::vector<RunMetadata> steps;
};

/// Returns a lower bound on a step's time on `threads` cores, in seconds: for each product of every
/// tower, the shortest time of any kernel for a product of its size in `alone`, scaled as if it
/// could use all cores without loss, plus the time of passes and updates at `bytes_per_second`.
double step_floor(const RunMetadata& step, std::span<const IsolatedSteps> alone, int threads,
                  double bytes_per_second);

/// Returns the last line of `step_table`: the floor and its share of the mean of `steps`.
std::string floor_line(std::span<const RunMetadata> steps, double floor, double bytes_per_second);

/// Returns the share of the steps' time that the table shows as unattributed.
double unattributed_share(std::span<const RunMetadata> steps);

/// Draws a step as a timeline: one row per engine, time from left to right.
std::string step_timeline(const RunMetadata& step, std::size_t width = 72);

/// Describes the devices of a session and the memory that a step needs on each.
std::string holdings_text(Session& session, std::span<const Fetch> fetches,
                          const Feeds& feeds = {});

/// Lists what is copied between memories in a step: the largest values, and sums per route.
std::string transfers_text(Session& session, std::span<const Fetch> fetches,
                           const Feeds& feeds = {}, std::size_t shown = 12);

/// Describes how much of the backward pass was done when the first gradient left its device; "" if
/// no gradient leaves.
std::string first_gradient_text(const RunMetadata& step);

/// Returns all of the above for one step, with headings, and what the planner did.
std::string explanation(Session& session, std::span<const Fetch> fetches, const Feeds& feeds,
                        const RunMetadata& step);

/// Returns the "/device:SIM:0" part of a device's full name.
std::string short_device_name(const std::string& name);

/// Writes a step in the trace format of chrome://tracing and Perfetto.
void write_trace(const RunMetadata& step, const std::string& path);

}  // namespace towerflow::report
