#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "cuda/table/layer.h"

namespace towerflow::testing {

/// A layer that knows what the backend has got from CUDA and not given back: memory, registered
/// pages, streams, events, graphs, handles and descriptors of the libraries. Kernels that are part
/// of Towerflow stay loaded until the process ends and do not count.
class Ledger final : public cuda::TableLayer {
 public:
  using Counts = std::map<std::string, int>;  ///< by the call that gives it back: "cudaFree"

  Ledger() : Ledger(0, 0) {}
  /// Leaves out the calls number `first`, `first + every`, .. of those that give something back.
  Ledger(std::size_t first, std::size_t every);

  const cuda::Table& on(const cuda::Table& base) override;
  void update() override;

  /// What is not given back.
  static Counts kept();
  /// What was given back, and what would have been but for the calls left out.
  static Counts given_back(), left_out();

 private:
  cuda::Table table_;
};

}  // namespace towerflow::testing
