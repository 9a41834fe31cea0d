#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/runtime/session.h"

/// Runs a graph with passes on and off.
namespace towerflow::testing {

/// The values of a run, the report of its plan, and the number of instructions it launches.
struct RunResult {
  std::vector<Array> values;
  std::string report;
  int launches = 0;

  bool has(const std::string& part) const { return report.find(part) != std::string::npos; }
  /// Returns the number of instructions of an op.
  int count(const std::string& op) const { return times("  " + op + " ["); }
  int times(const std::string& part) const {
    int found = 0;
    for (std::size_t at = report.find(part); at != std::string::npos;
         at = report.find(part, at + 1)) {
      ++found;
    }
    return found;
  }
};

inline RunResult run_fetches(Session& session, const std::vector<Fetch>& fetches,
                             const Feeds& feeds = {}) {
  RunResult ran{session.run(fetches, feeds), session.plan_report(fetches, feeds), 0};
  ran.launches = ran.times(" [");
  return ran;
}

/// Runs `fetches` in a new session with `devices` CPU devices, after `init` if there is one.
inline RunResult run_with(Graph& graph, const std::vector<Fetch>& fetches,
                          const PassOptions& passes, const Operation* init = nullptr,
                          const Feeds& feeds = {}, int devices = 1) {
  ConfigProto config;
  config.device_count = {{"CPU", devices}};
  config.passes = passes;
  Session session(graph, config);
  if (init != nullptr) session.run(*init);
  return run_fetches(session, fetches, feeds);
}

/// Returns pass options with reuse of buffers and the rewrites of one kind only.
inline PassOptions only_rewrites(const std::string& kind = "") {
  PassOptions passes{false, false, false, {"layers", "updates", "elementwise"}, true};
  passes.skipped_rewrites.erase(kind);
  return passes;
}

/// Everything that can be switched off, by name.
inline const std::map<std::string, std::function<void(PassOptions&)>>& pass_switches() {
  static const auto skip = [](const char* kind) {
    return [kind](PassOptions& passes) { passes.skipped_rewrites.insert(kind); };
  };
  static const std::map<std::string, std::function<void(PassOptions&)>> switches = {
      {"drop_unread", [](PassOptions& passes) { passes.drop_unread = false; }},
      {"fold_constants", [](PassOptions& passes) { passes.fold_constants = false; }},
      {"share_subexpressions", [](PassOptions& passes) { passes.share_subexpressions = false; }},
      {"rewrites of layers", skip("layers")},
      {"rewrites of updates", skip("updates")},
      {"rewrites of elementwise", skip("elementwise")},
      {"reuse_buffers", [](PassOptions& passes) { passes.reuse_buffers = false; }},
      {"recompute_from", [](PassOptions& passes) { passes.recompute_from = 0; }},
      {"split_loops", [](PassOptions& passes) { passes.split_loops = false; }},
      {"choose_winograd", [](PassOptions& passes) { passes.choose_winograd = false; }},
  };
  return switches;
}

/// Returns whether bits are equal, except that any NaN equals any other: which of two NaN a sum
/// returns is unspecified.
inline bool same_bits(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a == b) return true;
  const auto differ = [&]<class T>() {
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      const T x = a.data<T>()[i], y = b.data<T>()[i];
      if (std::memcmp(&x, &y, sizeof(T)) != 0 && !(std::isnan(x) && std::isnan(y))) return true;
    }
    return false;
  };
  if (a.dtype() == DType::float32) return !differ.template operator()<float>();
  if (a.dtype() == DType::float64) return !differ.template operator()<double>();
  return false;
}

inline bool same_bits(const RunResult& a, const RunResult& b) {
  if (a.values.size() != b.values.size()) return false;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (!same_bits(a.values[i], b.values[i])) return false;
  }
  return true;
}

}  // namespace towerflow::testing
