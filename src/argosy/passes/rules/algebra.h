#pragma once

#include <array>
#include <optional>
#include <vector>

#include "argosy/passes/rewrite.h"

// What a value is of others, whatever operations with numbers say it: rules about a formula ask
// here, and need not know the ways in which it may be written.
namespace argosy::passes {

// a * of + b
struct Affine {
  Ref<Value> of;
  double a = 1, b = 0;
};

// number * of^power * ..
struct Product {
  struct Factor {
    Ref<Value> of;
    double power;
  };
  double number = 1;
  std::vector<Factor> factors;
};

// c[0] + c[1] x + c[2] x^2 + c[3] x^3
using Cubic = std::array<double, 4>;

// Equal but for the digits that were lost where a number was written as float32, or by a hand.
bool close(double a, double b);

class Algebra {
 public:
  explicit Algebra(const Rewriter& r) : r_(r) {}

  // The only number that v has, if that is known.
  std::optional<double> number(const Ref<Value>& v) const;
  // The result of o as that of one of its operands, which has the same form; nothing for others.
  std::optional<Affine> step(const Operation& o) const;
  // Through all such operations whose results nobody else reads; v itself if there are none.
  Affine affine(const Ref<Value>& v) const;
  // The result of o as a product, through all products whose results nobody else reads.
  Product product(const Operation& o) const;
  // v as a polynomial in x; nothing for other functions, and for those of more than the third
  // degree.
  std::optional<Cubic> polynomial(const Ref<Value>& v, const Ref<Value>& x) const;
  // What v is the square of, or null.
  Ref<Value> root(const Ref<Value>& v) const;

 private:
  bool is_own(const Ref<Value>& v) const { return r_.uses(v) == 1 && !r_.leaves(v); }
  void multiply_in(Product& p, const Ref<Value>& v, double power, int depth) const;
  bool take_apart(Product& p, const Operation& o, double power, int depth) const;
  std::optional<Cubic> polynomial(const Ref<Value>& v, const Ref<Value>& x, int depth) const;

  const Rewriter& r_;
};

}  // namespace argosy::passes
