#pragma once

#include <cstdint>

#include "cuda/ops/chain_threshold.h"

namespace towerflow::testing {

/// Compiles chains of at least `elements` while it exists.
class CompileFrom {
 public:
  explicit CompileFrom(std::int64_t elements) : before_(cuda::least_compiled_elements()) {
    cuda::least_compiled_elements() = elements;
  }
  ~CompileFrom() { cuda::least_compiled_elements() = before_; }
  CompileFrom(const CompileFrom&) = delete;
  CompileFrom& operator=(const CompileFrom&) = delete;

 private:
  std::int64_t before_;
};

}  // namespace towerflow::testing
