"""The command `argosy`: version and help, run with its alias in every kind of child, doctor."""

import os
import subprocess
import sys
import textwrap

import pytest

import argosy
from argosy.cli import main
from argosy.cli.doctor import Report


def argosy_command(*arguments, cwd=None, **environment):
    command = [sys.executable, "-m", "argosy.cli", *map(str, arguments)]
    environment = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


@pytest.fixture
def program(tmp_path):
    """Writes a program and runs it by `argosy run`; gives the finished process."""

    def run(text, *arguments, **environment):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        return argosy_command("run", path, *arguments, **environment)

    return run


def output(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    version = argosy.version
    text = f"argosy {version.argosy_version} (Paddle API {version.full_version})\n"
    assert capsys.readouterr().out == text
    assert main([]) == 0
    assert "doctor" in capsys.readouterr().out
    for arguments in (["run", "--help"], ["doctor", "--help"]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 0 and "usage: argosy" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["fly"])
    assert left.value.code == 2 and "fly" in capsys.readouterr().err


def test_paddle_is_argosy_itself(program):
    done = program(
        """
        import sys
        import paddle
        import paddle.nn as nn
        import paddle.nn.functional as F
        from paddle.io import Dataset
        import argosy, argosy.io
        assert paddle is argosy and nn is argosy.nn and F is argosy.nn.functional
        assert Dataset is argosy.io.Dataset
        assert paddle.nn.functional is sys.modules["paddle.nn.functional"]
        assert argosy.__spec__.name == "argosy" and nn.__name__ == "argosy.nn"
        import importlib
        assert importlib.import_module("paddle.optimizer") is argosy.optimizer
        print(paddle.to_tensor([1.0, 2.0]).sum().item(), sys.argv[1:], __name__)
        """,
        "a",
        "--b",
    )
    assert output(done) == "3.0 ['a', '--b'] __main__"


def test_without_run_paddle_is_not_touched():
    code = "import argosy, sys; import importlib.util; print(importlib.util.find_spec('paddle'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert output(done) == "None"


def test_a_paddle_in_the_path_gives_way_only_under_run(tmp_path):
    (tmp_path / "paddle.py").write_text("name = 'the real one'\n")
    code = "import paddle; print(getattr(paddle, 'name', paddle.__name__))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert output(done) == "the real one"
    assert output(argosy_command("run", "-c", code, cwd=tmp_path)) == "argosy"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_children_see_the_alias(program, method):
    done = program(
        """
        import multiprocessing, sys

        def child(queue):
            import paddle.nn as nn
            import argosy
            queue.put(nn is argosy.nn)

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            queue = context.Queue()
            process = context.Process(target=child, args=(queue,))
            process.start()
            print(queue.get(timeout=60))
            process.join()
        """,
        method,
    )
    assert output(done) == "True"


def test_subprocess_children_see_the_alias(program):
    done = program(
        """
        import subprocess, sys
        code = "import paddle; print(paddle.__name__)"
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
        """
    )
    assert output(done) == "argosy"


def test_modules_and_code_and_standard_input(tmp_path):
    (tmp_path / "mine.py").write_text("import paddle, sys\nprint(paddle.__name__, sys.argv[1:])\n")
    assert output(argosy_command("run", "-m", "mine", "x", cwd=tmp_path)) == "argosy ['x']"
    assert output(argosy_command("run", "-u", "mine.py", cwd=tmp_path)) == "argosy []"
    assert output(argosy_command("run", "-c", "import paddle; print(paddle.__name__)")) == "argosy"


def test_traceback_and_exit_code_are_pythons(program):
    done = program("import paddle\n\ndef fails():\n    raise ValueError('mine')\n\nfails()\n")
    assert done.returncode == 1
    files = [line for line in done.stderr.splitlines() if line.startswith("  File")]
    assert len(files) == 2 and all("program.py" in line for line in files)
    assert done.stderr.strip().endswith("ValueError: mine")
    assert program("import sys; sys.exit(7)").returncode == 7
    missing = program("import paddle.no_such_module")
    assert "No module named 'paddle.no_such_module'" in missing.stderr
    assert "_argosy_alias" not in missing.stderr


def test_the_path_is_as_pythons(program, tmp_path):
    text = "import sys; print(sys.path)"
    path = tmp_path / "program.py"
    path.write_text(text)
    plain = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert output(program(text)) == output(plain)


def test_a_sitecustomize_of_the_user_still_runs(program, tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import builtins\nbuiltins.mine = 'ran'\n")
    done = program("import paddle; print(mine, paddle.__name__)", PYTHONPATH=str(folder))
    assert output(done) == "ran argosy"


def test_wrong_use_is_told():
    done = argosy_command("run")
    assert done.returncode == 2 and "argosy run PROGRAM.py" in done.stderr
    done = argosy_command("run", "-I", "program.py")
    assert done.returncode == 2 and "-I" in done.stderr and "leave it out" in done.stderr
    assert argosy_command("run", "no_such_file.py").returncode == 2


def test_doctor_finds_everything_working():
    done = argosy_command("doctor")
    assert done.returncode == 0, done.stdout
    for part in ("Machine", "instruction sets", "threads", "oneDNN", "OpenBLAS", "numpy", "ok"):
        assert part in done.stdout
    assert "FAILED" not in done.stdout and done.stdout.rstrip().endswith("Everything works.")


def test_doctor_tells_what_fails(monkeypatch, capsys):
    from argosy.cli import doctor

    def broken():
        raise RuntimeError("no such kernel\nmore")

    monkeypatch.setattr(doctor, "_CHECKS", (("arithmetic", broken),))
    assert doctor.doctor() == 1
    text = capsys.readouterr().out
    assert "FAILED: RuntimeError: no such kernel\n" in text and "1 failed: arithmetic" in text


def test_a_wrong_result_is_a_failure(capsys):
    from argosy.cli import doctor

    report = Report(sys.stdout)
    report.check("sum", lambda: doctor._expect([1.0, 2.5], [1.0, 2.0]))
    assert report.failed == ["sum"] and "off by 0.5" in capsys.readouterr().out
