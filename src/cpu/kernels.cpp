#include "cpu/cpu_backend.hpp"
