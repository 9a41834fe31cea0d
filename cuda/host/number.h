#pragma once

#include <cstddef>
#include <cstdint>

namespace towerflow::cuda::host {

/// How the libraries store an element. All of them compute in double here.
enum class Number { f16, bf16, f32, f64, i8, u8, i32, i64, boolean };

std::size_t size_of(Number number);

/// Reads `count` elements that are `stride` elements apart, the first at `from`.
void load(Number number, const std::byte* from, std::int64_t stride, std::int64_t count,
          double* to);

/// Writes `count` elements that are `stride` elements apart. Floating-point types round to the
/// nearest, integers round and saturate, as the libraries do.
void store(Number number, std::byte* to, std::int64_t stride, std::int64_t count,
           const double* from);

/// Rounds as a store and a load do.
void round_as(Number number, std::int64_t count, double* values);

/// Rounds to TF32, the ten bits of mantissa that tensor cores keep of a float.
double round_to_tf32(double value);

}  // namespace towerflow::cuda::host
