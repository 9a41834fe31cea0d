#pragma once

/// Namespaces of the library's types. Argument-dependent lookup searches the namespaces of the
/// types of a call's arguments. The types are therefore in namespaces that contain nothing else but
/// their operators and `collection_name`, so that an unqualified call of a program's own
/// `average_gradients` or `relu` finds only that function. The using-directives make types declared
/// in `tf::types` and `tf::train::types` available as `tf::Tensor` and `tf::train::Saver`.
namespace towerflow {

namespace types {}
using namespace types;

namespace data {
namespace types {}
using namespace types;
}  // namespace data

namespace errors {
namespace types {}
using namespace types;
}  // namespace errors

namespace losses {
namespace types {}
using namespace types;
}  // namespace losses

namespace nn {
namespace types {}
using namespace types;
}  // namespace nn

namespace parallel {
namespace types {}
using namespace types;
}  // namespace parallel

namespace summary {
namespace types {}
using namespace types;
}  // namespace summary

namespace train {
namespace types {}
using namespace types;
}  // namespace train

}  // namespace towerflow
