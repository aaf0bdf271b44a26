# SPDX-License-Identifier: Apache-2.0
"""Settings and fixtures of all Python tests."""

import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run, and no time limit for one example: the machines are shared.
settings.register_profile("mxgemm", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("mxgemm")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)
