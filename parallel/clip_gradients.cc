#include "parallel/clip_gradients.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/scopes.h"
#include "ops/math/clip.h"

namespace towerflow::parallel {

void check_clip(const GradientClip& clip, Site site) {
  if (clip.limit > 0 && std::isfinite(clip.limit)) return;
  throw ValueError(fmt::format("gradients are clipped to a positive number, got {}", clip.limit),
                   {.site = site});
}

ClippedGradients clip_gradients(const std::vector<GradAndVar>& grads_and_vars,
                                const GradientClip& clip, Site site) {
  check_clip(clip, site);
  std::vector<OptionalGradient> grads;
  for (const GradAndVar& pair : grads_and_vars) grads.push_back(pair.grad);
  ClippedGradients result;
  if (clip.way == ClipWay::by_global_norm) {
    ClippedByGlobalNorm clipped = clip_by_global_norm(grads, Operand(clip.limit, site), {}, site);
    grads = std::move(clipped.list_clipped);
    result.global_norm = clipped.global_norm;
  } else {
    result.global_norm = global_norm(grads, {}, site);
    for (OptionalGradient& grad : grads) {
      if (!grad) continue;
      const ColocationScope beside(result.global_norm.graph(), &grad->representative().node(),
                                   false);
      grad = clip.way == ClipWay::by_norm ? clip_by_norm(*grad, Operand(clip.limit, site), {}, site)
                                          : clip_by_value(*grad, Operand(-clip.limit, site),
                                                          Operand(clip.limit, site), {}, site);
    }
  }
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const GradAndVar& before = grads_and_vars[i];
    result.grads.push_back({grads[i].with_origin(before.grad.origin()), before.var});
  }
  return result;
}

}  // namespace towerflow::parallel
