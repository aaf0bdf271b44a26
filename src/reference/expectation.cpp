// SPDX-License-Identifier: Apache-2.0
#include "reference/expectation.hpp"

#include <cmath>
#include <limits>

namespace mxgemm::internal {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kF32Overflow =
    0x1.FFFFFFp127;  // the smallest number that rounds to infinity: 2^128 - 2^103
constexpr float kNanF32 = std::numeric_limits<float>::quiet_NaN();

// The epilogue's other inputs for one output.
struct Terms {
  float alpha = 0.0f;
  float bias = 0.0f;
  float beta = 0.0f;
  float c = 0.0f;  // 0 where C is not read
  bool use_c = false;
  bool use_dot = false;  // K > 0
};

Terms load_terms(const ReferenceProblem& problem, float alpha, int64_t m, int64_t n) {
  Terms terms;
  terms.alpha = alpha;
  terms.use_dot = problem.k > 0;
  if (problem.bias != nullptr) {
    const uint32_t code = load_code(problem.format_bias, problem.bias, n);
    terms.bias = static_cast<float>(decode_code(problem.format_bias, code));
  }
  terms.use_c = problem.c != nullptr && problem.beta != 0.0f;
  if (terms.use_c) {
    terms.beta = problem.beta;
    const uint32_t code = load_code(problem.format_d, problem.c, m * problem.ldc + n);
    terms.c = static_cast<float>(decode_code(problem.format_d, code));
  }
  return terms;
}

// alpha' acc + bias + beta C, rounded to double once; every term finite.
double exact_argument(const Terms& terms, const DotAccumulator& dot, bool with_c) {
  ExactSum positive;
  ExactSum negative;
  if (terms.use_dot) {
    (terms.alpha < 0.0f ? negative : positive).add_scaled(dot.positive(), terms.alpha);
    (terms.alpha < 0.0f ? positive : negative).add_scaled(dot.negative(), terms.alpha);
  }
  (terms.bias < 0.0f ? negative : positive).add(static_cast<double>(terms.bias));
  if (with_c) {
    const double product = static_cast<double>(terms.beta) * terms.c;
    (product < 0.0 ? negative : positive).add(product);
  }
  return rounded_difference(positive, negative);
}

AllowedValues single_value(double value) {
  AllowedValues allowed;
  allowed.nan = std::isnan(value);
  allowed.positive_infinity = value == kInfinity;
  allowed.negative_infinity = value == -kInfinity;
  allowed.finite = std::isfinite(value);
  allowed.lower = value;
  allowed.upper = value;
  return allowed;
}

// What an fp32 operation may give whose exact result is within `bound` of `exact`.
AllowedValues around(double exact, double bound) {
  AllowedValues allowed = single_value(exact);
  allowed.lower = exact - bound;
  allowed.upper = exact + bound;
  allowed.positive_infinity = allowed.upper >= kF32Overflow;
  allowed.negative_infinity = allowed.lower <= -kF32Overflow;
  allowed.finite = allowed.lower < kF32Overflow && allowed.upper > -kF32Overflow;
  return allowed;
}

// The value of each infinity, in turn, becomes a value of `function`.
template <typename Function>
void map_infinities(const AllowedValues& from, const Function& function, AllowedValues* to) {
  for (const double infinity : {kInfinity, -kInfinity}) {
    if (infinity > 0.0 ? from.positive_infinity : from.negative_infinity) {
      const AllowedValues value = single_value(function(infinity));
      to->nan = to->nan || value.nan;
      to->positive_infinity = to->positive_infinity || value.positive_infinity;
      to->negative_infinity = to->negative_infinity || value.negative_infinity;
      if (value.finite) {
        to->lower = to->finite ? std::fmin(to->lower, value.lower) : value.lower;
        to->upper = to->finite ? std::fmax(to->upper, value.upper) : value.upper;
        to->finite = true;
      }
    }
  }
}

BoundTerms bound_terms(const Terms& terms, const ExactDot& dot, int64_t k, bool with_c) {
  BoundTerms bound;
  bound.k = k;
  bound.alpha = terms.use_dot ? std::fabs(static_cast<double>(terms.alpha)) : 0.0;
  bound.magnitude = dot.magnitude;
  bound.bias = std::fabs(static_cast<double>(terms.bias));
  bound.beta_c = with_c ? std::fabs(static_cast<double>(terms.beta) * terms.c) : 0.0;
  return bound;
}

// Fills exact, bound and allowed: through alpha' acc + bias, then beta C, then the activation.
// Wherever a step is not finite, or may overflow fp32, the infinities that the chain then meets are
// carried along.
void fill_allowed(const ReferenceProblem& problem, const Terms& terms, const DotAccumulator& dot,
                  ExpectedOutput* out) {
  const double product = terms.use_dot ? static_cast<double>(terms.alpha) * out->dot.value : 0.0;
  const double first = product + terms.bias;
  AllowedValues inner = single_value(first);
  if (std::isfinite(first)) {
    inner = around(exact_argument(terms, dot, false),
                   error_bound(bound_terms(terms, out->dot, problem.k, false)));
  }
  const double addend = terms.use_c ? static_cast<double>(terms.beta) * terms.c : 0.0;
  const double second = first + addend;
  AllowedValues argument = inner;
  BoundTerms bound = bound_terms(terms, out->dot, problem.k, terms.use_c);
  out->exact = second;
  if (terms.use_c) {
    argument = inner.finite && !std::isfinite(addend) ? single_value(addend) : AllowedValues{};
    if (std::isfinite(second) && inner.finite) {
      argument = around(exact_argument(terms, dot, true), error_bound(bound));
    }
    map_infinities(
        inner, [&](double infinity) { return infinity + addend; }, &argument);
    argument.nan = argument.nan || inner.nan;
  }
  if (std::isfinite(second)) {
    out->exact = exact_argument(terms, dot, terms.use_c);
    bound.argument = std::fabs(out->exact);
  }
  out->exact = exact_activation(problem.activation, out->exact);
  bound.activation = problem.activation;
  out->bound = std::isfinite(second) ? error_bound(bound) : 0.0;
  AllowedValues allowed;
  if (argument.finite) {
    allowed = single_value(out->exact);
    allowed.lower = out->exact - out->bound;
    allowed.upper = out->exact + out->bound;
  }
  map_infinities(
      argument, [&](double infinity) { return exact_activation(problem.activation, infinity); },
      &allowed);
  allowed.nan = allowed.nan || argument.nan;
  out->allowed = allowed;
}

float fp32_chain(const Terms& terms, float acc, Activation activation) {
  float value = terms.use_dot ? std::fmaf(terms.alpha, acc, terms.bias) : terms.bias;
  if (terms.use_c) {
    value = std::fmaf(terms.beta, terms.c, value);
  }
  const double result = exact_activation(activation, value);
  return std::isnan(result) ? kNanF32 : static_cast<float>(f32_decode(f32_encode(result)));
}

// |alpha'| S >= 2^128.
bool scaled_magnitude_overflows(float alpha, const DotAccumulator& dot) {
  const ExactSum magnitude = dot.magnitude();
  if (!std::isfinite(alpha)) {
    return std::isinf(alpha) && !magnitude.is_zero();
  }
  ExactSum scaled;
  scaled.add_scaled(magnitude, alpha);
  return scaled.top_exponent() >= 128;
}

CheckKind check_kind(const ReferenceProblem& problem, const Terms& terms, const DotAccumulator& dot,
                     const ExactDot& exact) {
  if (std::isnan(exact.value) && !dot.has_opposite_infinities()) {
    return CheckKind::kBound;  // a NaN element or scale: NaN, whatever else
  }
  if (terms.use_dot && (exact.overflows || scaled_magnitude_overflows(terms.alpha, dot))) {
    return CheckKind::kNothing;
  }
  if (exact.outside_scale_limit) {
    return dot.has_infinity() ? CheckKind::kNothing : CheckKind::kNanPlacement;
  }
  const bool rounds_once =
      problem.activation == Activation::kNone || problem.activation == Activation::kRelu;
  return exact.exact_in_any_order && rounds_once ? CheckKind::kExact : CheckKind::kBound;
}

}  // namespace

ExpectedOutput expectation(const ReferenceProblem& problem, float alpha, const DotAccumulator& dot,
                           int64_t m, int64_t n) {
  ExpectedOutput out;
  const Terms terms = load_terms(problem, alpha, m, n);
  out.dot = dot.result();
  out.check = check_kind(problem, terms, dot, out.dot);
  fill_allowed(problem, terms, dot, &out);
  if (out.check == CheckKind::kNanPlacement) {
    // Terms that cancel in exact arithmetic need not where one of them is flushed or clamped.
    const BoundTerms bound = bound_terms(terms, out.dot, problem.k, terms.use_c);
    const double reach = bound.alpha * bound.magnitude + bound.bias + bound.beta_c + out.bound;
    const bool meets_infinity =
        reach >= kF32Overflow && std::isnan(exact_activation(problem.activation, -kInfinity));
    out.allowed.nan = out.allowed.nan || meets_infinity;
  }
  out.d_f32 = fp32_chain(terms, out.dot.value_f32, problem.activation);
  out.d_code = encode_code(problem.format_d, out.d_f32);
  return out;
}

}  // namespace mxgemm::internal
