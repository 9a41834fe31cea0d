#pragma once

#include "tests/ops/cases/op_case.h"

/// The families of cases. Each is a file NAME_cases.cc with a function that adds its cases.
#define TOWERFLOW_CASE_FAMILIES(FAMILY) \
  FAMILY(elementwise)                   \
  FAMILY(math)                          \
  FAMILY(mathematics)                   \
  FAMILY(array)                         \
  FAMILY(indexing)                      \
  FAMILY(arrays)                        \
  FAMILY(matrices)                      \
  FAMILY(nn)                            \
  FAMILY(convolution)                   \
  FAMILY(image_file)                    \
  FAMILY(image)                         \
  FAMILY(random)                        \
  FAMILY(variables)                     \
  FAMILY(data_flow)

namespace towerflow::testing {

/// What the call of a case takes.
using In = const CaseTensors&;

#define TOWERFLOW_DECLARE(name) void add_##name##_cases(std::vector<OpCase>& cases);
TOWERFLOW_CASE_FAMILIES(TOWERFLOW_DECLARE)
#undef TOWERFLOW_DECLARE

}  // namespace towerflow::testing
