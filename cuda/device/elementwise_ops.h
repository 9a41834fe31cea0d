#pragma once

// The elementwise ops that kernels exist for, by the names of TensorFlow's ops. Each list calls its
// argument with the name of an op, which is also that of its functor.

// Of one floating number.
#define TOWERFLOW_FLOATING_UNARY_OPS(X) \
  X(Neg)                                \
  X(Abs)                                \
  X(Square)                             \
  X(Sqrt)                               \
  X(Rsqrt)                              \
  X(Reciprocal)                         \
  X(Exp)                                \
  X(Expm1)                              \
  X(Log)                                \
  X(Log1p)                              \
  X(Sigmoid)                            \
  X(Tanh)                               \
  X(Softplus)                           \
  X(Softsign)                           \
  X(Elu)                                \
  X(Selu)                               \
  X(Relu)                               \
  X(Relu6)                              \
  X(Sin)                                \
  X(Cos)                                \
  X(Tan)                                \
  X(Asin)                               \
  X(Acos)                               \
  X(Atan)                               \
  X(Sinh)                               \
  X(Cosh)                               \
  X(Asinh)                              \
  X(Acosh) X(Atanh) X(Erf) X(Erfc) X(Lgamma) X(Digamma) X(Rint) X(Round) X(Sign) X(Floor) X(Ceil)
// Those that the layers of networks use most: also for 16-bit numbers.
#define TOWERFLOW_SHORT_UNARY_OPS(X) \
  X(Neg)                             \
  X(Abs)                             \
  X(Square)                          \
  X(Sqrt)                            \
  X(Rsqrt)                           \
  X(Reciprocal)                      \
  X(Exp)                             \
  X(Log)                             \
  X(Log1p)                           \
  X(Sigmoid)                         \
  X(Tanh)                            \
  X(Softplus)                        \
  X(Softsign)                        \
  X(Elu) X(Selu) X(Relu) X(Relu6) X(Erf) X(Sin) X(Cos) X(Sign) X(Floor) X(Ceil) X(Rint) X(Round)
#define TOWERFLOW_INTEGER_UNARY_OPS(X) X(Neg) X(Abs) X(Square) X(Sign) X(Relu) X(Relu6)
#define TOWERFLOW_PREDICATE_OPS(X) X(IsNan) X(IsInf) X(IsFinite)

// Of two floating numbers.
#define TOWERFLOW_FLOATING_BINARY_OPS(X) \
  X(AddV2)                               \
  X(Sub)                                 \
  X(Mul)                                 \
  X(RealDiv)                             \
  X(DivNoNan)                            \
  X(FloorDiv)                            \
  X(TruncateDiv)                         \
  X(TruncateMod)                         \
  X(FloorMod)                            \
  X(Maximum)                             \
  X(Minimum)                             \
  X(Pow)                                 \
  X(SquaredDifference)                   \
  X(Atan2)                               \
  X(Xdivy)                               \
  X(Xlogy)                               \
  X(Xlog1py)                             \
  X(SigmoidGrad)                         \
  X(TanhGrad)                            \
  X(SqrtGrad) X(RsqrtGrad) X(ReluGrad) X(Relu6Grad) X(EluGrad) X(SeluGrad) X(SoftsignGrad)
#define TOWERFLOW_SHORT_BINARY_OPS(X) \
  X(AddV2)                            \
  X(Sub)                              \
  X(Mul)                              \
  X(RealDiv)                          \
  X(DivNoNan)                         \
  X(FloorDiv)                         \
  X(FloorMod)                         \
  X(Maximum)                          \
  X(Minimum)                          \
  X(Pow)                              \
  X(SquaredDifference)                \
  X(SigmoidGrad)                      \
  X(TanhGrad)                         \
  X(SqrtGrad)                         \
  X(RsqrtGrad) X(ReluGrad) X(Relu6Grad) X(EluGrad) X(SeluGrad) X(SoftsignGrad)
#define TOWERFLOW_INTEGER_BINARY_OPS(X) \
  X(AddV2) X(Sub) X(Mul) X(Maximum) X(Minimum) X(SquaredDifference) X(ReluGrad)
// Those that some integers have no result for: they set BinaryShape::error and give 0.
#define TOWERFLOW_PARTIAL_INTEGER_OPS(X) \
  X(RealDiv) X(FloorDiv) X(TruncateDiv) X(TruncateMod) X(FloorMod) X(Pow)
#define TOWERFLOW_COMPARISON_OPS(X) \
  X(Equal) X(NotEqual) X(Greater) X(GreaterEqual) X(Less) X(LessEqual)
#define TOWERFLOW_LOGICAL_OPS(X) X(LogicalAnd) X(LogicalOr)

namespace towerflow::cuda::device {

/// What a step of a chain computes.
enum class ChainOp : int {
  Select,
#define TOWERFLOW_NAME(op) op,
  TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_NAME) TOWERFLOW_PREDICATE_OPS(TOWERFLOW_NAME) LogicalNot,
  TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_NAME) TOWERFLOW_COMPARISON_OPS(TOWERFLOW_NAME)
      TOWERFLOW_LOGICAL_OPS(TOWERFLOW_NAME)
#undef TOWERFLOW_NAME
};

}  // namespace towerflow::cuda::device
