#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

// What a `.pdmodel` has of an operation otherwise than a `.json`, beside the names in pir_names.h:
// numbers that are operands now were attributes, attributes had other names and types.
namespace argosy::infer::paddle {

enum class AttributeType {  // as files number them
  integer = 0,
  real = 1,
  text = 2,
  integers = 3,
  reals = 4,
  boolean = 6,
  block = 8,
  large = 9,
  larges = 11,
};

struct OldOperand {
  size_t place;
  // The attribute that it is if it is a constant; none: it is left out.
  std::string attribute;
  AttributeType type = AttributeType::integer;
  std::string slot;  // if it is none; without, that is not supported
  std::string all;   // the attribute that says that the list is empty, which means all axes
};
struct OldAttribute {
  std::string pir;
  std::string name;  // none: there was nothing of the kind
  AttributeType type = AttributeType::integer;
  bool told_otherwise = false;  // without a name: does it not have to be 0?
};
struct OldFixed {  // an attribute with one value; of type integers: once for each axis
  std::string name;
  AttributeType type;
  double value;
};

struct OldForm {
  std::string op;  // where pir_names.h has another for the readers
  std::vector<OldOperand> operands;
  std::vector<OldAttribute> attributes;
  std::vector<OldFixed> fixed;
  std::vector<std::string> outputs;  // where there are more than pir_names.h has

  const OldOperand* operand(size_t place) const {
    auto it = std::ranges::find(operands, place, &OldOperand::place);
    return it == operands.end() ? nullptr : &*it;
  }
  const OldAttribute* attribute(std::string_view pir) const {
    auto it = std::ranges::find(attributes, pir, &OldAttribute::pir);
    return it == attributes.end() ? nullptr : &*it;
  }
};

// Empty for most.
const OldForm& old_form(std::string_view pir);

std::vector<std::string> words_of(std::string_view text);

}  // namespace argosy::infer::paddle
