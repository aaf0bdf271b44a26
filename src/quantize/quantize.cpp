#include "quantize/quantize.hpp"
