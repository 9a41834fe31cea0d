#pragma once

/// What a program includes, in place of tf.h, to bring ops, kernels, backends, optimizers and
/// rewrite rules of its own; see docs/extend.md.
#include "core/device/backend_registry.h"
#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/export_form.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "core/graph/rewrite.h"
#include "ops/fusion.h"
#include "towerflow/tf.h"
