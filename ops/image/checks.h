#pragma once

#include <vector>

#include "core/graph/tensor.h"

namespace towerflow::image {

/// Throws ValueError unless `image` has at least three dimensions, none of the last three of which
/// is 0. What is not known yet is checked by the returned operations when the graph runs.
std::vector<Operation> check_at_least_3d(const Tensor& image, const char* op, Site site);

/// Returns `image` once these checks have passed: an Identity called "control_dependency".
Tensor assert_at_least_3d(const Tensor& image, const char* op, Site site);

/// Throws ValueError unless the last size is 1; returns checks of what is not known yet.
std::vector<Operation> check_greyscale(const Tensor& image, Site site);

/// Throws ValueError if `image` has a known rank other than 3 and 4.
void check_image_or_batch(const Tensor& image, const char* op, Site site);

}  // namespace towerflow::image
