#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/graph/attrs.h"
#include "tests/ops/cases/op_case.h"

namespace towerflow::testing {

/// By op and by attribute of its arguments, "T" or the like: the dtypes that are accepted.
using OpDtypes = std::map<std::string, std::map<std::string, std::set<DType>>>;

/// Every dtype that an Array may have.
std::vector<DType> all_dtypes();

/// A node in which an attribute has another dtype than a case has: accepted, as far as the shape
/// rule and the table of kernels say.
struct DtypeTrial {
  struct Input {
    DType dtype;
    Shape shape;
    bool is_ref;
    Array value;  ///< where it is known; empty otherwise
  };
  std::string op;
  Attrs attrs;
  std::vector<Input> inputs;
};

/// The dtypes that the arguments of each op may have, found by trying each of them in the place of
/// what the ops' cases have: the shape rule has to take it, and the CPU to have a kernel.
///
/// Calls `on_accepted` for each that is accepted, but for those of ops that rewrites make.
OpDtypes op_dtypes(const std::function<void(const DtypeTrial&)>& on_accepted = {});

}  // namespace towerflow::testing
