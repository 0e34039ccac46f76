"""Random numbers are the same in every fold, also of a library that is loaded in the middle of one."""

import subprocess
import sys

CODE = """
import random
import numpy as np
from palestra.evaluation.random_seed import seed_all

def drawn():
    import torch
    return random.random(), np.random.normal(), torch.rand(3).tolist(), torch.get_num_threads()

seed_all(3)
first = drawn()  # torch is imported here
drawn()
seed_all(3)
assert drawn() == first, "a later fold of the same process draws something else"
seed_all(4)
assert drawn()[:3] != first[:3]
assert first[3] == 1
import torch
assert torch.are_deterministic_algorithms_enabled()
print("same")
"""


def test_torch_is_seeded_whether_it_is_there_already_or_not():
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert (found.stdout.strip(), found.stderr) == ("same", "")


def test_a_seed_that_was_never_used_leaves_nothing_behind():
    code = "import sys; from palestra.evaluation.random_seed import seed_all; n = len(sys.meta_path); "
    code += "[seed_all(i) for i in range(3)]"
    subprocess.run([sys.executable, "-c", f"{code}; assert len(sys.meta_path) == n + 1"], check=True, timeout=120)
