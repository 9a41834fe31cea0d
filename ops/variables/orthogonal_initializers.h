#pragma once

#include <optional>

#include "ops/variables/variable.h"

namespace towerflow {

struct OrthogonalInitializerOptions {
  double gain = 1.0;  ///< multiplies the matrix
  std::optional<std::int64_t> seed{};
};

/// Random matrices whose columns, or rows if there are fewer of them, have length 1 and are at
/// right angles to each other. All sizes but the last count as the rows: a filter is one matrix.
///
/// shapes   rank 2 or more     dtypes  float32, float64
/// errors   ValueError when the variable is made: rank below 2
/// source   tf.orthogonal_initializer, tf.initializers.orthogonal
Initializer orthogonal_initializer(OrthogonalInitializerOptions options = {});

struct IdentityInitializerOptions {
  double gain = 1.0;  ///< multiplies the matrix
};

/// The identity matrix.
///
/// shapes   [m, n]     dtypes  floating
/// errors   ValueError when the variable is made: another rank
/// source   tf.initializers.identity
Initializer identity_initializer(IdentityInitializerOptions options = {});

namespace initializers {

inline Initializer orthogonal(OrthogonalInitializerOptions options = {}) {
  return orthogonal_initializer(std::move(options));
}
inline Initializer identity(IdentityInitializerOptions options = {}) {
  return identity_initializer(options);
}

}  // namespace initializers
}  // namespace towerflow
