#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/graph/attrs_def.h"
#include "core/graph/scopes.h"
#include "dataset/definition.h"
#include "ops/random/seed.h"

namespace towerflow::data {

/// Attributes of IteratorV2.
struct IteratorAttrs {
  std::string shared_name;
  std::vector<DType> output_types;
  std::vector<Shape> output_shapes;
  static constexpr auto fields =
      std::tuple{attr::required("shared_name", &IteratorAttrs::shared_name),
                 attr::required("output_types", &IteratorAttrs::output_types),
                 attr::required("output_shapes", &IteratorAttrs::output_shapes)};
};

/// Attributes of IteratorGetNext.
struct GetNextAttrs {
  std::vector<DType> output_types;
  std::vector<Shape> output_shapes;
  static constexpr auto fields =
      std::tuple{attr::required("output_types", &GetNextAttrs::output_types),
                 attr::required("output_shapes", &GetNextAttrs::output_shapes)};
};

/// Attributes of IteratorFromStringHandleV2. Empty lists accept any iterator.
struct IteratorFromHandleAttrs {
  std::vector<DType> output_types;
  std::vector<Shape> output_shapes;
  static constexpr auto fields =
      std::tuple{attr::field("output_types", &IteratorFromHandleAttrs::output_types),
                 attr::field("output_shapes", &IteratorFromHandleAttrs::output_shapes)};
};

/// Attributes of _MakeIterator, whose inputs after the iterator are the tensors of the program.
struct MakeIteratorAttrs {
  std::int64_t tensors = 0;                         ///< number of tensors of the program
  std::shared_ptr<const DatasetProgram> program{};  ///< not in `fields`
  static constexpr auto fields = std::tuple{attr::field("_tensors", &MakeIteratorAttrs::tensors)};
};

/// Attributes of _OneShotIterator, whose inputs are the tensors of the program.
struct OneShotAttrs {
  GetNextAttrs element;
  std::shared_ptr<const DatasetProgram> program{};  ///< not in `fields`
  static constexpr auto fields = std::tuple{attr::included(&OneShotAttrs::element)};
};

}  // namespace towerflow::data
