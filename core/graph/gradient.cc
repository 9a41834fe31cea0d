#include "core/graph/gradient.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "core/graph/fetch.h"

namespace towerflow {
namespace {

/// Returns "of 'tower_0/loss:0' with respect to 'w:0' ", or "" if the origin is not known.
std::string subject_of(const GradientOrigin* origin) {
  if (origin == nullptr) return "";
  return fmt::format("of '{}' with respect to '{}' ", origin->y.name(), origin->x.name());
}

/// Returns the detail of an error about a gradient that is used at `site`.
ErrorDetail detail_of(const GradientOrigin* origin, Site site, const std::string& advice) {
  if (origin == nullptr) return {.site = site, .hint = advice};
  std::string asked = "it was requested ";
  if (!origin->scope.empty()) asked += fmt::format("in name scope '{}' ", origin->scope);
  return {.site = site.known() ? site : origin->site,
          .node = origin->x.op().name(),
          .op = origin->x.op().type(),
          .hint = fmt::format("{}at {}; {}", asked, origin->site.text(), advice)};
}

template <class E>
[[noreturn]] void throw_absent(const char* problem, const GradientOrigin* origin, Site site) {
  throw E(fmt::format("{}: the gradient {}is absent", problem, subject_of(origin)),
          detail_of(origin, site,
                    "skip it where has_value() is false, or use tf::zeros_like(variable) instead; "
                    "tf::why_none(y, x) gives the reason"));
}

}  // namespace

const std::shared_ptr<const GradientOrigin>& OptionalGradient::origin() const {
  return has_value() ? base()->origin_ : origin_;
}

OptionalGradient OptionalGradient::with_origin(std::shared_ptr<const GradientOrigin> origin) const {
  OptionalGradient result(*this);
  (has_value() ? static_cast<std::optional<Gradient>&>(result)->origin_ : result.origin_) =
      std::move(origin);
  return result;
}

const Gradient& OptionalGradient::value(Site site) const {
  if (has_value()) return *base();
  throw_absent<ValueError>("None values not supported", origin_.get(), site);
}

Tensor Gradient::dense(Site site) const {
  if (const auto* tensor = std::get_if<Tensor>(&value_)) return *tensor;
  throw_slices("not a dense Tensor", "", site);
}

void Gradient::throw_slices(const std::string& problem, const char* also, Site site) const {
  const GradientOrigin* of = origin_.get();
  throw TypeError(
      fmt::format("gradient {} {}is IndexedSlices, {}", name(), subject_of(of), problem),
      detail_of(of, site, fmt::format("tf::convert_to_tensor(*gradient) makes it dense{}", also)));
}

const IndexedSlices& Gradient::slices(Site site) const {
  if (const auto* slices = std::get_if<IndexedSlices>(&value_)) return *slices;
  const GradientOrigin* of = origin_.get();
  throw TypeError(
      fmt::format("gradient {} {}is a dense Tensor, not IndexedSlices", name(), subject_of(of)),
      detail_of(of, site, "is_dense() tells the two apart"));
}

Tensor Gradient::representative() const {
  return is_dense() ? std::get<Tensor>(value_) : std::get<IndexedSlices>(value_).values;
}

Gradient Gradient::with_values(Tensor values) const {
  Gradient result(*this);
  if (is_dense())
    result.value_ = values;
  else
    std::get<IndexedSlices>(result.value_).values = values;
  return result;
}

GradientList::GradientList(std::initializer_list<OptionalGradient> items)
    : std::vector<OptionalGradient>(items) {}
GradientList::GradientList(std::vector<OptionalGradient> items)
    : std::vector<OptionalGradient>(std::move(items)) {}

Fetch::Fetch(Given, const OptionalGradient& gradient, Site site) {
  if (!gradient) {
    throw_absent<TypeError>("Can not convert a NoneType into a Tensor or Operation",
                            gradient.origin().get(), site);
  }
  operation_ = gradient->op();
  if (gradient->is_dense())
    tensor_ = gradient->dense();
  else
    slices_ = std::make_shared<const Slices>(Slices{*gradient, site});
}

const IndexedSlices* Fetch::slices() const {
  return slices_ == nullptr ? nullptr : &slices_->gradient.slices();
}

void Fetch::throw_slices() const {
  slices_->gradient.throw_slices("which are not one array",
                                 "; sess.run(gradient->slices()) gives values and indices",
                                 slices_->site);
}

}  // namespace towerflow
