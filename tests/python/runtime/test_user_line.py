"""Errors name the user's line, wherever the user's file lies."""

import subprocess
import sys

SCRIPT = """
import argosy as paddle
from argosy import static
paddle.enable_static()
x = static.data("x", [2, 3], "float32")
print(x.name)
y = paddle.reshape(x, [3, 2])
print(static.default_main_program().global_block().ops[-1].callstack)
paddle.disable_static()
paddle.set_flags({"FLAGS_check_nan_inf": True, "FLAGS_check_nan_inf_level": 1})
paddle.log(paddle.to_tensor([-1.0]))
"""


def test_a_folder_may_be_named_as_the_package(tmp_path):
    file = tmp_path / "argosy" / "train.py"
    file.parent.mkdir()
    file.write_text(SCRIPT)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert f"{file}:7" in done.stdout and f"({file}:11)" in done.stdout
