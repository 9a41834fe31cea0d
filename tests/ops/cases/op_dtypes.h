#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/graph/attrs.h"
#include "tests/ops/cases/op_case.h"

namespace towerflow::testing {

/// Accepted dtypes by op and by attribute of its arguments, such as "T".
using OpDtypes = std::map<std::string, std::map<std::string, std::set<DType>>>;

/// Every dtype that an Array may have.
std::vector<DType> all_dtypes();

/// A node with another dtype for an attribute than a case has. The shape rule and the kernel table
/// accept it.
struct DtypeTrial {
  struct Input {
    DType dtype;
    Shape shape;
    bool is_ref;
    Array value;  ///< the value if known, else empty
  };
  std::string op;
  Attrs attrs;
  std::vector<Input> inputs;
};

/// Finds the dtypes that the arguments of each op may have, by trying each dtype in place of those
/// of the op's cases: the shape rule must accept it and the CPU must have a kernel.
///
/// Calls `on_accepted` for each accepted trial, except for rewritten nodes.
OpDtypes op_dtypes(const std::function<void(const DtypeTrial&)>& on_accepted = {});

}  // namespace towerflow::testing
