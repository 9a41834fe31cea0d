#pragma once

/// Where types live. C++ looks for a function that is called without its namespace also beside the
/// types of its arguments. The library's types therefore have namespaces of their own, with nothing
/// beside them but their operators and `collection_name`: a program's own `average_gradients` or
/// `relu` is the only one that such a call finds. The directives make `tf::Tensor` and
/// `tf::train::Saver` of what is declared in `tf::types` and `tf::train::types`.
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
