#include "ops/simd/loops.h"

#include <atomic>

#include "core/graph/error.h"

namespace towerflow::simd {

#if defined(__x86_64__)
extern const Loops kLoops_v2;
extern const Loops kLoops_v3;
extern const Loops kLoops_v4;
#else
extern const Loops kLoops_generic;
#endif

namespace {

const Loops* best_loops() {
  for (const Level level : {Level::v4, Level::v3, Level::v2, Level::generic})
    if (const Loops* found = loops_of(level)) return found;
  throw RuntimeError("This processor lacks the x86-64-v2 instructions that the library needs.");
}

std::atomic<const Loops*>& current() {
  static std::atomic<const Loops*> loops{best_loops()};
  return loops;
}

}  // namespace

const Loops* loops_of(Level level) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  switch (level) {
    case Level::v2:
      return v2 ? &kLoops_v2 : nullptr;
    case Level::v3:
      return v3 ? &kLoops_v3 : nullptr;
    case Level::v4:
      return v4 ? &kLoops_v4 : nullptr;
    case Level::generic:
      return nullptr;
  }
  return nullptr;
#else
  return level == Level::generic ? &kLoops_generic : nullptr;
#endif
}

bool is_disjoint_2x2(const PoolGeometry& g) {
  const auto is_halved = [](const WindowAxis& axis) {
    return axis.window == 2 && axis.stride == 2 && axis.pad_before == 0 &&
           axis.input == 2 * axis.output;
  };
  return is_halved(g.rows) && is_halved(g.columns) && g.channels % 16 == 0;
}

const Loops& loops() { return *current().load(std::memory_order_acquire); }

bool use_level(Level level) {
  const Loops* wanted = loops_of(level);
  if (wanted != nullptr) current().store(wanted, std::memory_order_release);
  return wanted != nullptr;
}

const char* level_name(Level level) {
  switch (level) {
    case Level::v2:
      return "x86-64-v2";
    case Level::v3:
      return "x86-64-v3";
    case Level::v4:
      return "x86-64-v4";
    case Level::generic:
      break;
  }
  return "generic";
}

}  // namespace towerflow::simd
