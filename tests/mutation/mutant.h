#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>

/// Included by every file that tests/mutation/mutate changes.
namespace towerflow::mutation {

inline constexpr int kMaxMutants = 1 << 14;

/// Which mutants the process has reached. With $TOWERFLOW_MUTANTS_REACHED the numbers are appended
/// to that file when the process ends.
class Reached {
 public:
  ~Reached() {
    const char* path = std::getenv("TOWERFLOW_MUTANTS_REACHED");
    std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
    if (file == nullptr) return;
    for (int id = 0; id < kMaxMutants; ++id) {
      if (reached_[static_cast<std::size_t>(id)]) std::fprintf(file, "%d\n", id);
    }
    std::fclose(file);
  }
  void add(int id) { reached_[static_cast<std::size_t>(id)] = true; }

 private:
  std::array<bool, kMaxMutants> reached_{};
};

inline Reached& reached() {
  static Reached all;
  return all;
}

/// The number of the mutant in $TOWERFLOW_MUTANT, which is the one that runs; -1 if there is none.
inline int active() {
  static const int id = [] {
    const char* text = std::getenv("TOWERFLOW_MUTANT");
    return text == nullptr ? -1 : std::atoi(text);
  }();
  return id;
}

/// Returns whether mutant `id` runs.
inline bool on(int id) {
  static const bool recording = std::getenv("TOWERFLOW_MUTANTS_REACHED") != nullptr;
  if (recording) reached().add(id);
  return id == active();
}

}  // namespace towerflow::mutation
