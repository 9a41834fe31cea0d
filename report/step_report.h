#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/runtime/session.h"

namespace towerflow::report {

/// Where the time of a step goes, as a table whose rows add up to the step: kernels by op, with
/// their rate and the share of the best rate each of them reached in any of `steps`, passes over
/// memory, updates of variables, waits, and what is left. With several compute queues each row is
/// their mean.
std::string step_table(std::span<const RunMetadata> steps);

/// Steps in which no two products ran at once, each on `threads` threads.
struct AloneSteps {
  int threads = 1;
  std::vector<RunMetadata> steps;
};

/// The time below which a step cannot come on `threads` cores, in seconds: for each product of
/// every tower the least that any kernel took for one of its size in `alone`, counted as if it
/// shared out over all cores without loss, and what passes and updates move at `bytes_per_second`.
double step_floor(const RunMetadata& step, std::span<const AloneSteps> alone, int threads,
                  double bytes_per_second);

/// The last line of `step_table`: the floor and its share of the mean of `steps`.
std::string floor_line(std::span<const RunMetadata> steps, double floor, double bytes_per_second);

/// The share of a step's time that no row but the last of `step_table` accounts for.
double unattributed_share(std::span<const RunMetadata> steps);

/// A step as a picture: one row an engine, time from left to right.
std::string step_timeline(const RunMetadata& step, std::size_t width = 72);

/// Describes the devices of a session and the memory that a step needs on each.
std::string holdings_text(Session& session, std::span<const Fetch> fetches,
                          const Feeds& feeds = {});

/// What crosses between memories in a step: the largest values, and sums by route.
std::string crossings(Session& session, std::span<const Fetch> fetches, const Feeds& feeds = {},
                      std::size_t shown = 12);

/// How much of the work of backward was still to come when the first gradient left its device, in
/// words; "" where nothing leaves.
std::string first_departure(const RunMetadata& step);

/// All of the above of one step, under headings, and what the planner did.
std::string explanation(Session& session, std::span<const Fetch> fetches, const Feeds& feeds,
                        const RunMetadata& step);

/// "/device:SIM:0" out of the full name of a device.
std::string device_part(const std::string& name);

/// Writes a step as chrome://tracing and Perfetto show it.
void write_trace(const RunMetadata& step, const std::string& path);

}  // namespace towerflow::report
